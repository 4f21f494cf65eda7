// Package listing answers questions about catalogs: which exist for a version, which packages, channels and bundles
// they have, and how these update.
//
// The three main types:
//
//   - PackagesOptions and CatalogListing: packages with their channels, heads and features.
//   - CatalogsOptions: catalogs of a registry, by OpenShift version.
//   - PackageGraphOptions: the update graph of a package, and what a configuration keeps of it.
//
// Catalogs are read as images, archives, layouts or folders. Only what an answer needs is requested.
//
// Rules of catalogs are in the packages below catalog. This package changes nothing.
//
// Start with ListPackages in listpackages.go.
package listing
