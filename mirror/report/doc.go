// Package report says what a mirror has and what changed: its image sets with their ages and owners, and differences
// between plans, archives, revisions and mirrors.
//
// The three main types:
//
//   - StatusOptions and MirrorState: the image sets of a mirror, from its records.
//   - DiffOptions and ContentDifference: catalogs, releases, images and sizes that two places differ in.
//   - ComparedContent: one of the two places.
//
// Only records and plans are read, and no blob.
//
// This package changes nothing.
//
// Start with Status in mirrorstatus.go, and Diff in diff.go.
package report
