package state

import (
	"fmt"
	"io"
	"path/filepath"
)

// OpenReceipt opens the receipt of a mirror and an image set. The mirror has the same name as for
// Records.
func (w *Workspace) OpenReceipt(mirror, name string) (io.ReadCloser, error) {
	return w.open(receiptFile(mirror, name))
}

// SaveReceipt saves the receipt of a mirror and an image set, and returns its path.
func (w *Workspace) SaveReceipt(mirror, name string, write func(io.Writer) error) (string, error) {
	file := receiptFile(mirror, name)
	return filepath.Join(w.dir, file), w.keep(file, write)
}

// SaveRepairRequest saves the request for content of an archive that could not be read during an import, and
// returns its path.
func (w *Workspace) SaveRepairRequest(name string, sequence int, write func(io.Writer) error) (string, error) {
	file := fmt.Sprintf("requests/%s-%06d.json", name, sequence)
	return filepath.Join(w.dir, file), w.keep(file, write)
}

func receiptFile(mirror, name string) string { return "receipts/" + mirror + "/" + name + ".json" }

// OpenImportedPlan opens the plan of the last import of an image set.
func (w *Workspace) OpenImportedPlan(mirror, name string) (io.ReadCloser, error) {
	return w.open(importedPlanFile(mirror, name))
}

// SaveImportedPlan saves the plan of an import. The next archive omits the plan if it is the same.
func (w *Workspace) SaveImportedPlan(mirror, name string, write func(io.Writer) error) error {
	return w.keep(importedPlanFile(mirror, name), write)
}

func importedPlanFile(mirror, name string) string {
	return "imported/" + mirror + "/" + name + ".json"
}
