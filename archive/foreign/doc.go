// Package foreign converts archives that oc mirror wrote into archives of Gantry, so that a site with a year of such disks
// can switch in the middle.
//
// The three main types:
//
//   - ConvertArchiveOptions name the disks, oldest first, or the cache of oc mirror, and the folder that is written.
//   - ConvertArchive reads the disks in place, and writes an archive with a plan of what is complete on them.
//   - ConvertedArchive lists what was converted, what is missing, and which names nothing proves.
//
// The layout of those disks is in package ocarchive, the plan of their content is made in archive/convert.
// Names are those that oc mirror gives, so that clusters of the site need no change.
//
// This package connects to no registry, and it never writes into the folders that it reads.
//
// Start with ConvertArchive in convertarchive.go.
package foreign
