// Package check reports whether clusters can be updated with the content of a mirror, an archive or a configuration:
// operators along their upgrade paths, custom resource definitions, and the platform along its update graph.
//
// The three main types:
//
//   - Options name what clusters run, and what they are checked against.
//   - Run returns a Result: a verdict for each operator and each update of the platform.
//   - CRDSafety lists changes of definitions that OLM v1 refuses.
//
// An operator without an upgrade path is a mismatch. What can't be read is an error, and never counts as
// safe.
//
// The rules are in catalog/upgrade, catalog/crdsafety and release/proof. This package changes nothing.
//
// Start with Run in check.go.
package check
