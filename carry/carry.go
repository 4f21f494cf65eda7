// Package carry decides what goes onto the next medium, and whether what came off one
// fits the site.
//
// Archives of one configuration are a series: each leaves out what the site has from
// those before it. On the connected side, Prepare finds which archive the next one of
// a plan builds on (the history in the workspace, the folder that is written to, or a
// receipt that the site sent), and Next writes it and enters it in the history. Where
// a run signs, a Voucher says which archives of others may be signed and built on.
//
// At the site, Fit finds out, before anything is copied, whether what an archive leaves
// out is in other archives that were brought, or at the mirror, and names exactly what
// has to be carried too where it is not. After the copy, Chain.Note writes the receipt of
// what the mirror has. Assess says which images a damaged medium breaks; what it lost goes
// back as a request, which RequestRepair makes and Repair answers. WholeImages are what can
// be served of an archive as it lies.
//
// Nothing here is believed for its name: sets are compared by digest, receipts and
// archives by their signatures where keys are known, and the mirror is asked where the
// workspace does not know. The package knows nothing of flags and of how results are
// shown; what to do about an error is told by its method Hint, in the words of the
// program's flags.
package carry
