// Package mirroring is the verb mirror: one run from a configuration, a plan or an archive to a registry, an archive or a
// layout.
//
// A run has phases, each in a room of its own:
//
//   - open: the workspace, the destination, the archive (workspace, site, archive/open)
//   - plan: made now, read from a file, or found in the archive (planning, signing)
//   - admit: whether the plan may replace what the destination has (admission)
//   - copy: the content, catalogs and releases last (copying)
//   - publish: what clusters apply (cluster)
//   - record: at the mirror, in the workspace, in the audit log (site, and status.go here)
//
// The three main types are Options, Result and RunReports, which are the files that a run leaves for
// monitoring. Options.Check says which options contradict each other.
//
// This package joins the phases, and has no rule of its own. What belongs to one phase goes into the room
// of that phase.
//
// Start with Run in runreports.go, and run in mirror.go.
package mirroring
