// Package gates asks programs of the user whether images and plans may be mirrored, such as a scanner.
//
// The three main types:
//
//   - Gates are the options: the programs, how many run at once, how long an answer is valid.
//   - Programs are those that were found, and what they decided in this run.
//   - GateResult has the answers: accepted, refused with a reason, failed.
//
// An image that a gate refuses is treated as one that is missing. A program that fails decides nothing:
// the image is refused too, and the run says why. Answers are remembered in the workspace only if the user
// asks for it. Every answer is in the audit log.
//
// How a program is started is in package gate. It gets no credentials.
//
// Start with PassGate in gateimages.go.
package gates
