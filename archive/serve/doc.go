// Package serve is a registry over archives: it answers pulls from the volumes on a disk, without unpacking them.
//
// The three main types:
//
//   - Options are the archives, the address, certificates and users.
//   - Run serves until its context ends.
//   - Serving says where it listens, and what it serves.
//
// Blobs that are carried as deltas are rebuilt on request. A certificate that was renewed on disk is used
// for new connections without a restart.
//
// The protocol is in package registryserver, the choice of the newest archives in package airgap. This
// package never writes to the disk that it serves.
//
// Start with Run in serve.go.
package serve
