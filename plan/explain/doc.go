// Package explain says why a plan has an image, a bundle or a package, and describes plans for others: bills of
// materials.
//
// The three main things:
//
//   - Run returns the chain of reasons, from an image to the configuration.
//   - Options name the plan: a file, the one of a workspace, or a configuration that is planned now.
//   - BillOfMaterials writes a plan as CycloneDX or SPDX.
//
// Reasons are in the plan itself. Features of bundles, such as disconnected, are read from the catalogs
// that the workspace keeps.
//
// This package changes nothing.
//
// Start with Run in explain.go.
package explain
