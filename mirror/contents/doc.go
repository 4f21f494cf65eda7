// Package contents lists what catalogs, mirrors and archives have: catalogs, packages, channels, bundles, images, files,
// charts and releases, with what people ask about them: can OLM v1 install it, which APIs, how large, on which disk.
//
// The three main types:
//
//   - Options names the places, and the words that what is listed matches.
//   - List has objects of one kind; Packages, Channels, Bundles and others return one.
//   - Stored is what a plan says about an object: size, volumes, and whether a mirror has it.
//
// A catalog is read as it is. Of a mirror, the plans of its records are read, and of an archive its plan; catalogs, and
// bundles if a catalog does not show webhooks, are read from the images that are there. Sizes and bundles of a catalog
// come from its registry, if they are asked for.
//
// A mirror without records is searched instead: its registry lists catalogs, releases and tags.
//
// What a catalog says is in plan/listing. This package changes nothing and verifies no bytes.
//
// Start with Packages in packages.go.
package contents
