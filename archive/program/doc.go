// Package program puts a program, usually gantry itself, beside an archive with its checksum, and verifies such
// programs: a site that has no Gantry yet starts with the one on the disk.
//
// The three main things:
//
//   - Add copies a program to a disk, writes its checksum, and signs that if a key is given.
//   - Verify compares the programs beside an archive with their checksums.
//   - AddedProgram is what both return.
//
// The checksum file has the form of sha256sum, so that a site can verify it with what it has. A program is
// copied to a temporary name first, and gets its own when it is complete.
//
// This package knows no volumes, plans and registries.
//
// Start with Add in program.go.
package program
