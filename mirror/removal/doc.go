// Package removal deletes from a mirror: what no image set needs any longer (Prune), and what a list names (Delete). Both
// make a plan of deletion, which can be read before it is executed.
//
// The three main types:
//
//   - PruneOptions and PruneResult: what would be deleted, or what was.
//   - DeleteOptions and DeletionListOptions: the list of oc mirror, and its execution.
//   - recordedRevisions is what all records of a mirror still need, with the plans to prove it.
//
// Nothing is deleted that any record, any workspace or any client still needs: tags of others, referrers of
// what stays, and images that were pushed after the records were read. If a record cannot be read,
// nothing is deleted. Every deletion is in the audit log.
//
// The comparison and the requests are in package prune. This package never copies, except catalogs that it
// publishes again without removed bundles.
//
// Start with Prune in prune.go, then read pruneturns.go.
package removal
