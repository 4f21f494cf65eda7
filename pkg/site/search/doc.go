// Package search finds out what a mirror has from its registry alone: catalogs with their packages, platform releases,
// and repositories that no catalog names. Mirrors that other programs filled have no records to ask.
//
// The main things:
//
//   - Mirror reads the repositories below the mirror's path, or the usual ones if the registry lists none.
//   - List names the catalogs, releases and tags, and reads no catalog.
//   - NotCatalog matches tags that belong to images, so that these are not read as catalogs.
//
// The result is a draft.Mirror. This package writes nothing.
//
// Start with Mirror in mirror.go.
package search
