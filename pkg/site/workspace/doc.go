// Package workspace opens the folder that keeps what runs share: plans, records, journals, the cache, and the audit
// log. Only one run has it open at a time.
//
// The three main types:
//
//   - Session is a workspace that is open and locked, with the client and the cache of its sources.
//   - Sources reads catalogs and images at their sources through that cache.
//   - StatusReport lists the last runs.
//
// A session begins with OpenSession and ends with Release. It appends entries to the audit log between
// BeginAudit and AuditError: if an entry cannot be written, no run begins, and one that has begun ends with
// the error.
//
// Formats of files are in package state. This package knows no verb: no plan is made, copied or deleted
// here. The cache can be deleted at any time.
//
// Start with OpenSession in session.go.
package workspace
