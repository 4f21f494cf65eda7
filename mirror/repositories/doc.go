// Package repositories creates the repositories that a plan needs, at registries where a push does not: ECR, Harbor and
// Quay.
//
// The three main things:
//
//   - Prepare creates the repositories of a configuration, a plan or an archive, or prints the commands.
//   - PrepareMirror is for a run that mirrors: its Preparation creates what each part of the run needs.
//   - API says what kind of registry it is, and which token creates repositories.
//
// The requests of each kind are in package provision. No password is printed.
//
// This package copies nothing, and deletes nothing.
//
// Start with Prepare in prepare.go.
package repositories
