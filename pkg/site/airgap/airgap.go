// Package airgap decides what goes onto the next disk, and whether an archive fits the site.
//
// Archives of one image set are a series: each leaves out what the site has from the archives
// before it. On the connected side, PrepareExport finds which archive the next one builds on (from
// the history in the workspace, the folder it is written to, or a receipt of the site), and
// Export.Run writes it and adds it to the history. If the run signs, a SigningPolicy decides which
// archives of others may be signed and built on.
//
// At the site, CheckImport makes sure, before anything is copied, that what an archive leaves out
// is in other opened archives or in the mirror. If not, its error names exactly the archives that
// are needed too. After the copy, Import.WriteReceipt writes the receipt of what the mirror has.
// Assess finds the images that a damaged disk breaks. What was lost goes back as a repair request,
// which RequestRepair makes and Repair answers. FindServable finds the images that can be served
// from an archive in place.
//
// Nothing is trusted for its name: sets are compared by digest, receipts and archives by their
// signatures if keys are known, and the mirror is asked if the workspace does not know. The package
// knows neither flags nor how results are shown. Errors that a person can act on are of package
// advice.
package airgap
