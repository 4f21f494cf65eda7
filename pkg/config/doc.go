// Package config checks configurations, converts old ones, and drafts new ones: from what a cluster has, from a mirror,
// or from an archive.
//
// The three main types:
//
//   - Check and Checked: whether configurations are valid, with file and line of each problem.
//   - FromCluster and FromMirror: a Draft of a configuration that asks for what is there.
//   - DraftOptions say from where, and how exactly versions are pinned.
//
// A draft names only what records, plans or manifests prove. What cannot be known is a comment in it.
//
// The format is in package imageset. This package plans and copies nothing.
//
// Start with FromMirror in draftconfig.go.
package config
