// Package updates reads update services, release signatures and graph data for plans and for queries of releases, and
// decides whose signatures of releases are trusted.
//
// The three main types:
//
//   - Updates requests graphs, graph data and signatures, over the client of a run.
//   - ReleaseTrust are the options: keys, stores of signatures, and whether they are required.
//   - Minor is a minor version, such as 4.20, with its order.
//
// Formats are in release/update, release/graph and signature/gpg. Environment variables name other
// services and stores, as those of the cluster-version operator do.
//
// This package makes no plan. A release whose signature is not valid is an error here, and never a note.
//
// Start with NewUpdates in updates.go.
package updates
