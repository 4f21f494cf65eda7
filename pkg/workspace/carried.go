package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

// A Carried is an archive that was written for a site.
type Carried struct {
	Sequence int `json:"sequence"`
	// Set is the digest of its set manifest; "" while the archive is being finished.
	Set digest.Digest `json:"set,omitempty"`
	// Date is when it was written.
	Date time.Time     `json:"date"`
	Plan digest.Digest `json:"plan"`
	// Full says that it builds on no other.
	Full bool `json:"full"`
	// Encrypted says that it can only be read with an identity.
	Encrypted bool `json:"encrypted,omitempty"`
	// Dir is where it was written to.
	Dir string `json:"dir"`
	// Found says that it lay in Dir complete, and that nothing tells who wrote it.
	Found bool `json:"found,omitempty"`
}

// Carried returns the archives that were written of the plan called name, by
// sequence.
func (w *Workspace) Carried(name string) ([]Carried, error) {
	file := carriedFile(name)
	text, err := w.disk.Root.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Carried
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	for i := range all {
		if err == nil && (all[i].Sequence < 1 || i > 0 && all[i].Sequence <= all[i-1].Sequence) {
			err = fmt.Errorf("sequence %d is out of order", all[i].Sequence)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; remove the folder that it is in, and the next archive is told from those in its folder, or from a receipt", filepath.Join(w.dir, file), err)
	}
	return all, nil
}

// SaveCarried enters an archive, in place of one of the same sequence, and first
// keeps what record writes of it: what the site has once it is imported. Nil leaves
// the record as it is.
func (w *Workspace) SaveCarried(name string, c Carried, record func(io.Writer) error) error {
	all, err := w.Carried(name)
	if err != nil {
		return err
	}
	if err := w.disk.Root.MkdirAll(path.Dir(carriedFile(name)), 0o755); err != nil {
		return fmt.Errorf("noting the archive: %w", err)
	}
	if record != nil {
		if err := w.disk.Write(recordFile(name, c.Sequence), record); err != nil {
			return fmt.Errorf("noting what the archive holds: %w", err)
		}
	}
	i, found := slices.BinarySearchFunc(all, c.Sequence, func(have Carried, sequence int) int { return have.Sequence - sequence })
	if found {
		all[i] = c
	} else {
		all = slices.Insert(all, i, c)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("noting the archive: %w", err)
	}
	return w.replace(carriedFile(name), append(text, '\n'))
}

// OpenRecord opens what SaveCarried kept of a sequence.
func (w *Workspace) OpenRecord(name string, sequence int) (io.ReadCloser, error) {
	return w.open(recordFile(name, sequence))
}

func carriedFile(name string) string { return "archives/" + name + "/history.json" }

func recordFile(name string, sequence int) string {
	return fmt.Sprintf("archives/%s/%06d.json", name, sequence)
}

// OpenReceipt opens what the mirror holds of the archives of a name. mirror is that
// of Holdings.
func (w *Workspace) OpenReceipt(mirror, name string) (io.ReadCloser, error) {
	return w.open(receiptFile(mirror, name))
}

// SaveReceipt keeps the receipt of a mirror and a name, and returns its path.
func (w *Workspace) SaveReceipt(mirror, name string, write func(io.Writer) error) (string, error) {
	file := receiptFile(mirror, name)
	if err := w.disk.Root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return "", fmt.Errorf("keeping the receipt: %w", err)
	}
	return filepath.Join(w.dir, file), w.disk.Write(file, write)
}

func receiptFile(mirror, name string) string { return "receipts/" + mirror + "/" + name + ".json" }

// OpenImported opens the text of the plan that was imported last of a name.
func (w *Workspace) OpenImported(mirror, name string) (io.ReadCloser, error) {
	return w.open(importedFile(mirror, name))
}

// SaveImported keeps the text of a plan that was imported, which an archive with the
// same plan leaves out.
func (w *Workspace) SaveImported(mirror, name string, write func(io.Writer) error) error {
	file := importedFile(mirror, name)
	if err := w.disk.Root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return fmt.Errorf("keeping the plan: %w", err)
	}
	return w.disk.Write(file, write)
}

func importedFile(mirror, name string) string { return "imported/" + mirror + "/" + name + ".json" }

// OpenPlan opens the plan that was made last of a name.
func (w *Workspace) OpenPlan(name string) (io.ReadCloser, error) {
	return w.open("plans/" + name + ".json")
}

// open opens a regular file of the workspace.
func (w *Workspace) open(name string) (io.ReadCloser, error) {
	f, err := w.disk.Root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", filepath.Join(w.dir, name), err)
	}
	return f, nil
}
