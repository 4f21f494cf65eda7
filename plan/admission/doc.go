// Package admission is the phase of a run that decides whether a plan may be copied to a destination: whose image set
// it is, which catalogs it replaces, and whether clusters would be stranded.
//
// The three main types:
//
//   - Admit compares a plan with the records of a mirror, and refuses one that takes the names of another.
//   - ReplacedCatalog is a catalog that a plan replaces: what it loses, and whether it is older.
//   - PartialError is the error of a run that could not copy everything.
//
// Everything here happens before the first byte is copied, and again under the lease of the mirror, since
// another workspace may have published meanwhile.
//
// This package changes nothing at a destination.
//
// Start with Admit in claim.go, then read replacedcatalogs.go.
package admission
