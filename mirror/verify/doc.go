// Package verify compares a registry, an archive or a layout with what it should have: every manifest and blob of a plan,
// what the records of a mirror promise, and whether the manifests for clusters lead to images that are there.
//
// The three main types:
//
//   - Options name places, plans, and how thoroughly blobs are read.
//   - Result has what is missing, damaged or changed, for each place.
//   - VerifiedResources are the findings about manifests for clusters.
//
// Anything that is missing or differs is a mismatch. What is not checked is said.
//
// Reading and comparing is in packages mirror and archive. This package changes nothing; mirror with
// Options.RepairMissing repairs.
//
// Start with Run in verify.go.
package verify
