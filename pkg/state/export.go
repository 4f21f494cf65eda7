package state

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

// maxSequence is the highest sequence of an archive.
const maxSequence = 999_999

// A SetRef refers to an archive of a series: archives, receipts, histories and repair requests
// use it. The series has the name of the image set, which is beside the reference.
type SetRef struct {
	Sequence int `json:"sequence"` // from 1 to maxSequence
	// Set is the digest of the set manifest. It is empty in the history while the archive is
	// being finished.
	Set digest.Digest `json:"set,omitempty"`
}

// An Export is an archive that was written with this workspace.
type Export struct {
	SetRef
	// Date is when it was written.
	Date time.Time     `json:"date"`
	Plan digest.Digest `json:"plan"`
	// Full reports whether it builds on no other archive.
	Full bool `json:"full"`
	// Encrypted reports whether reading it requires an identity.
	Encrypted bool `json:"encrypted,omitempty"`
	// Dir is the folder that it was written to.
	Dir string `json:"dir"`
	// Found reports whether it was found complete in Dir, without knowing who wrote it.
	Found bool `json:"found,omitempty"`
}

// Exports returns the archives that were written of an image set, by sequence.
func (w *Workspace) Exports(name string) ([]Export, error) {
	var all []Export
	file := historyFile(name)
	_, err := w.readJSON(file, &all)
	for i := range all {
		if err == nil && (all[i].Sequence < 1 || i > 0 && all[i].Sequence <= all[i-1].Sequence) {
			err = fmt.Errorf("reading %s: sequence %d is out of order", filepath.Join(w.dir, file), all[i].Sequence)
		}
	}
	if err != nil {
		return nil, damaged(err, "remove the folder that contains the file; the next archive then builds on the archives in its own folder or on a receipt")
	}
	return all, nil
}

// SaveExport adds an archive to the history, or replaces the entry of the same sequence. Before
// that, it saves what receipt writes: the receipt of a site that imported the archive. If receipt is
// nil, the saved one stays.
func (w *Workspace) SaveExport(name string, e Export, receipt func(io.Writer) error) error {
	all, err := w.Exports(name)
	if err != nil {
		return err
	}
	if receipt != nil {
		if err := w.keep(exportReceiptFile(name, e.Sequence), receipt); err != nil {
			return fmt.Errorf("saving the content of the archive: %w", err)
		}
	}
	i, found := slices.BinarySearchFunc(all, e.Sequence, func(have Export, sequence int) int { return have.Sequence - sequence })
	if found {
		all[i] = e
	} else {
		all = slices.Insert(all, i, e)
	}
	return w.saveJSON(historyFile(name), all)
}

// OpenExportReceipt opens the receipt that SaveExport saved of a sequence.
func (w *Workspace) OpenExportReceipt(name string, sequence int) (io.ReadCloser, error) {
	return w.open(exportReceiptFile(name, sequence))
}

// SiteReader returns what the newest receipt of a site that the workspace saw says about the archives that the
// site reads, and nil if it says nothing. seen is false if the workspace saw no receipt.
func (w *Workspace) SiteReader(name string) (r *ArchiveReader, seen bool, err error) {
	file := siteReaderFile(name)
	seen, err = w.readJSON(file, &r)
	if err == nil && r != nil {
		if err = r.check(); err != nil {
			err = fmt.Errorf("reading %s: %w", filepath.Join(w.dir, file), err)
		}
	}
	if err != nil {
		return nil, false, damaged(err, "remove the file")
	}
	return r, seen, nil
}

// SaveSiteReader saves what a receipt says about the archives that a site reads; nil if it says nothing.
func (w *Workspace) SaveSiteReader(name string, r *ArchiveReader) error {
	return w.saveJSON(siteReaderFile(name), r)
}

func siteReaderFile(name string) string { return "archives/" + name + "/site.json" }

func historyFile(name string) string { return "archives/" + name + "/history.json" }

func exportReceiptFile(name string, sequence int) string {
	return fmt.Sprintf("archives/%s/%06d.json", name, sequence)
}
