// Package registry logs in to registries, and examines what they accept.
//
// The two main things:
//
//   - Login and Logout keep credentials where podman and docker find them.
//   - Doctor examines the mirror, the sources of a configuration, and the disk, and says what to fix.
//
// Findings are made in package doctor, requests in package remote. No password is printed.
//
// This package copies nothing. Doctor leaves nothing behind at a registry.
//
// Start with Doctor in doctor.go.
package registry
