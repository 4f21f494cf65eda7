package state

// leasesFile has the ID of the last lease of each mirror.
const leasesFile = "leases.json"

// Lease returns the ID of the last lease that a run of this workspace had of a mirror, or "". Since one
// run uses a workspace at a time, that run has ended. A damaged list counts as none.
func (w *Workspace) Lease(mirror string) string { return w.leases()[mirror] }

// SaveLease saves the ID of the lease that this run is going to have.
func (w *Workspace) SaveLease(mirror, id string) error {
	all := w.leases()
	all[mirror] = id
	return w.saveJSON(leasesFile, all)
}

func (w *Workspace) leases() map[string]string {
	all := map[string]string{}
	_, _ = w.readJSON(leasesFile, &all) // as documented
	if all == nil {                     // "null"
		all = map[string]string{}
	}
	return all
}
