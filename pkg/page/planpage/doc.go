// Package planpage makes the document of a plan: what is mirrored, why, how large it is, and what to look at.
//
// The three main types:
//
//   - Options are the plan, and what is known beside it: the configuration, the update graphs, the plan before.
//   - New makes a page.Document. The verbs add what only they know: a destination, signatures, deltas, volumes.
//   - Text is a configuration without its secrets.
//
// Rows name the line of the configuration that asked for them. It is found by the names of the plan: catalogs,
// packages, channels of releases, charts, images and files. Everything here is a pure function.
//
// Start with New in planpage.go.
package planpage
