// Package inspect says what an archive has, without reading its blobs: volumes, plan, images, files, deltas, and how
// two archives differ.
//
// The three main things:
//
//   - Archive describes a set: its volumes, what it builds on, who signed it, and what its plan has.
//   - ListArchiveImages and ListArchiveContent list images and digests.
//   - CompareArchives says what one archive has and another has not.
//
// Everything is read from headers and from the plan inside. Whether the bytes are intact is the question
// of mirror/verify.
//
// This package never opens a blob, and it knows no registry.
//
// Start with Archive in inspectarchive.go.
package inspect
