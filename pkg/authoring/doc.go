// Package authoring makes catalogs: it filters, renders, composes, converts, validates and builds them, and serves one to
// try it.
//
// The three main things:
//
//   - FilterCatalogs applies a configuration to catalogs and writes them as folders.
//   - BuildCatalog makes a catalog image of a folder, reproducibly, and pushes it.
//   - RenderCatalogs, ConvertCatalog and ValidateCatalog do what opm does.
//
// A catalog that OLM would refuse is an error before anything is written.
//
// Rules and formats are in the packages below catalog. This package mirrors nothing.
//
// Start with BuildCatalog in buildcatalog.go.
package authoring
