// Package cluster makes what clusters apply to use a mirror: mirror sets, catalog sources, update services, signatures,
// trusted certificates, and files for hosts and installers.
//
// The three main types:
//
//   - Manifests has the files for everything in a mirror, and why they changed.
//   - ResourcesOptions are the options for writing them again: which clusters, by which name they reach
//     the mirror, which policies.
//   - ResourceFiles says which files were written, replaced and removed.
//
// The folder of a mirror has what the whole mirror needs, not only the last run. Names that clusters
// already have are kept. What no image set needs any longer is removed, and named.
//
// Formats of manifests are in package resources. This package connects to no cluster: whether operators
// can be updated is the question of cluster/check, and how they are installed of cluster/operator.
//
// Start with NewManifests in clusterresources.go.
package cluster
