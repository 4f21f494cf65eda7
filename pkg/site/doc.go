// Package site is a place where mirrored content is: a registry, an archive that is written, or a layout; and what the
// mirror registry itself knows of its image sets.
//
// The three main types:
//
//   - Destination is what a plan is compared with and copied to. OpenDestination returns one for a text
//     such as docker://mirror.example.com/ocp.
//   - RegistryDestination is a mirror registry: its names of repositories, its records, its lease.
//   - MirrorImages reads images of a mirror, with limits.
//
// Records say which image sets a mirror has, who mirrored them, and when. They are in the mirror, so that
// several workspaces see each other, and in the workspace, where a mirror cannot be reached. The lease in
// the mirror keeps two runs from publishing at once.
//
// This package copies and deletes nothing of its own accord. It knows neither configurations nor
// clusters; the rooms above use it.
//
// Start with OpenDestination in destination.go, then read SyncRecords in imagesets.go.
package site
