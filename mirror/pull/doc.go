// Package pull gets files that were mirrored as artifacts, such as tools and boot images, from a mirror, an archive or
// a layout.
//
// The three main things:
//
//   - ListFiles lists the files that a place has.
//   - File writes one of them, under its name or another.
//   - FileSource is such a place; it reads, resumes and verifies.
//
// A file gets its name when all of its bytes were compared with its digest. What was read of it before
// an interruption is kept beside it and continued.
//
// What a file is called, and how it becomes an artifact, is in package fileartifact. This package copies
// nothing to a mirror.
//
// Start with File in pull.go.
package pull
