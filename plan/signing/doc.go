// Package signing reads, writes and approves files of plans. A plan that was signed by someone who may approve it is
// copied exactly; a machine can demand that.
//
// The three main things:
//
//   - ReadPlan and WritePlan read and write a plan with the signature beside it.
//   - ApprovePlan reads the plan of a run and checks who signed it.
//   - PlanSignatureError says why a plan is refused, and by which file of the machine.
//
// Signatures are those of ssh-keygen with a namespace of their own, so that a signature over an archive
// never approves a plan.
//
// This package knows no registry, and it does not judge the content of a plan.
//
// Start with ApprovePlan in plansignature.go.
package signing
