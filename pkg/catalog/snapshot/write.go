package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Write writes a snapshot of what was read of an image. Only the Content is stored, so a snapshot
// is small if few packages were read. A package of more than 256 MiB is not stored.
func Write(w io.Writer, c Content) error {
	if err := write(w, c); err != nil {
		return fmt.Errorf("writing the snapshot of catalog %s: %w", c.Root, err)
	}
	return nil
}

func write(out io.Writer, c Content) error {
	if c.Before != nil && c.Before.index.Root != c.Root {
		return fmt.Errorf("the older snapshot belongs to %s", c.Before.index.Root)
	}
	w, err := newWriter(out)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, magic); err != nil {
		return err
	}
	ix := index{Root: c.Root, Complete: c.Options.Keep == nil, Names: c.Catalog.Names, Facts: c.Facts}
	if ix.Others, err = w.frame(c.Catalog.Others); err != nil {
		return err
	}
	for _, p := range c.Catalog.Packages {
		metas := p.Objects()
		if size(metas) > maxFrame {
			ix.Complete = false
			continue
		}
		f, err := w.frame(metas)
		if err != nil {
			return fmt.Errorf("package %s: %w", p.Name, err)
		}
		ix.Packages = append(ix.Packages, storedPackage{p.Name, f})
	}
	if c.Options.Outline {
		f, err := w.frame(outlined(c.Catalog.Outlines))
		if err != nil {
			return err
		}
		ix.Outlines = &f
	}
	if c.Before != nil {
		if err := w.before(&ix, c.Before); err != nil {
			return fmt.Errorf("copying the older snapshot: %w", err)
		}
	}
	elements.Sort(ix.Packages, func(a, b storedPackage) int { return strings.Compare(a.Name, b.Name) })
	return w.finish(ix)
}

// before copies what an older snapshot has and the new one does not.
func (w *writer) before(ix *index, old *Snapshot) error {
	ix.Complete = ix.Complete || old.index.Complete
	for _, p := range old.index.Packages {
		if slices.ContainsFunc(ix.Packages, func(q storedPackage) bool { return q.Name == p.Name }) {
			continue
		}
		f, err := w.copy(old, p.frame)
		if err != nil {
			return fmt.Errorf("package %s: %w", p.Name, err)
		}
		ix.Packages = append(ix.Packages, storedPackage{p.Name, f})
	}
	if ix.Outlines == nil && old.index.Outlines != nil {
		f, err := w.copy(old, *old.index.Outlines)
		if err != nil {
			return err
		}
		ix.Outlines = &f
	}
	return nil
}

// finish writes the index and the footer.
func (w *writer) finish(ix index) error {
	if err := ix.check(w.at); err != nil {
		return err
	}
	data, err := json.Marshal(ix)
	if err != nil {
		return err
	}
	if len(data) > maxIndex {
		return errors.New("the index is too large")
	}
	at := w.at
	if _, err := w.Write(data); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	footer := binary.BigEndian.AppendUint64(nil, uint64(at)) //nolint:gosec // a count of bytes
	footer = binary.BigEndian.AppendUint64(footer, uint64(len(data)))
	footer = append(footer, sum[:]...)
	_, err = w.Write(append(footer, magic...))
	return err
}
