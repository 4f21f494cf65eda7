// Package extract takes content out of archives: images as a layout, files under their names, single manifests and blobs.
//
// The three main things:
//
//   - Images writes images, with what earlier archives or the mirror have of them, into a layout.
//   - Files writes mirrored files, and the tools that are in release images.
//   - Content writes the bytes of one digest.
//
// Nothing is written under its name before all of its bytes were verified. An archive that builds on others
// needs their content: Options name those archives, a layout, or a mirror.
//
// This package never writes to a registry.
//
// Start with Images in extract.go.
package extract
