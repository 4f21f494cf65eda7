// Package mirroring is the verb mirror: one run from a configuration, a plan or an archive to a registry, an archive or a
// layout.
//
// A run has phases. Each is a file here, and its rules are in a room of its own:
//
//   - open: the workspace, the destination, the archive (workspace, site, archive/open)
//   - plan: made now, read from a file, or found in the archive (planning, signing)
//   - admit: whether the plan may replace what the destination has (admission)
//   - copy: the content, catalogs and releases last (copying)
//   - publish: what clusters apply, and the record at the mirror (cluster)
//   - record: in the workspace and in the audit log (workspace)
//
// The three main types are Options, Result and RunReports, which are the files that a run leaves for
// monitoring. Which options contradict each other is a table in contradictions.go.
//
// This package joins the phases, and has no rule of its own. What belongs to one phase goes into the room
// of that phase.
//
// Start with run in run.go. Run in runreports.go adds the reports.
package mirroring
