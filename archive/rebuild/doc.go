// Package rebuild makes lost or damaged volumes of an archive again, from the parity files that were written with it.
//
//   - Archive rebuilds what it can, and says which volumes it wrote.
//   - Options name the folder, and the keys of an encrypted archive.
//   - Result lists volumes that were rebuilt.
//
// A volume gets its name when it has the checksum of the set manifest. If too much is lost, nothing is
// written, and the error says how much more is needed.
//
// How parity is computed is in package parity, which volumes are damaged in package archive.
//
// Start with Archive in rebuildarchive.go.
package rebuild
