// Package releases answers questions about platform releases: which exist, how they update, what is in them, and which tools
// they have.
//
// The three main types:
//
//   - ListOptions and ReleaseList: which releases a channel has, which updates lead to one.
//   - ReleaseInfo: the images, versions and gates of one release.
//   - ToolOptions and ReleaseToolList: programs such as oc, extracted from the images of a release.
//
// A release is read at its source, in a mirror, in an archive or in a layout (OpenRelease), by its version
// or by a reference.
//
// Graphs and payloads have packages of their own below release. This package changes nothing but the
// files that a user asks for.
//
// Start with Releases in releases.go, then read openRelease in releasesource.go.
package releases
