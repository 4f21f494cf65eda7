// Package flips tests what a changed bit does: in archives of every kind, in workspaces, and in the records of a mirror.
//
// The main types are in its tests: a kind is a line of the table of archives, a way reads them, and a place is a part of a
// file, such as the header of an entry. Each flip changes one bit, reads, and changes it back. What is read is right, or the
// verb says that something is damaged and ends with an error; nothing wrong is published, and nothing is missing without an
// error.
//
// make test runs a few flips, make test-long more, and make hardening 500 over archives and 200 over workspaces and
// records, with a report in bin/flips.md.
//
// The package is only tests. Start with TestArchives in archives_test.go.
package flips
