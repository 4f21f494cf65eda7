// Package open opens archives for the rooms that read them, and asks for what a damaged one lacks.
//
// The three main things:
//
//   - Options name the folders of an archive, and the keys that it is read with.
//   - Archive opens it, checks its signature, and shows it to the observer of the run.
//   - RequestRepair lists what is missing or damaged, for the connected side.
//
// Package archive has the format. This package adds what a user says about one: folders as file://DIR,
// identities, and the policy for signatures.
//
// It never writes into the folder of an archive, and it knows no registry and no plan.
//
// Start with Archive in openarchive.go.
package open
