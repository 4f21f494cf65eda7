// Package registry prepares registries for mirroring: it logs in and out, examines what a registry accepts, and creates
// repositories where pushes do not.
//
// The three main things:
//
//   - Login and Logout keep credentials where podman and docker find them.
//   - Doctor examines the mirror, the sources of a configuration, and the disk, and says what to fix.
//   - Prepare creates the repositories that a plan needs, in ECR, Harbor and Quay, or prints the commands.
//
// Findings are made in package doctor, requests in packages provision and remote. No password is printed.
//
// This package copies nothing. Doctor leaves nothing behind at a registry.
//
// Start with Doctor in doctor.go.
package registry
