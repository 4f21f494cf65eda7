// Package receipt has the list of what a site holds of a plan, after an archive was
// brought there.
//
// The site writes it, and whoever makes the next archive reads it, so that the
// archive has what the site lacks and nothing else, whatever became of the media
// in between. It is JSON without times: the same site gives the same bytes.
package receipt

import (
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/document"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	kind    = "GantryReceipt"
	version = 1
	// MaxSize is the most bytes that a receipt may have.
	MaxSize = 256 << 20
)

// A Receipt says what a site holds.
type Receipt struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// Name is that of the plan: the series of archives that was imported.
	Name string `json:"name"`
	// Sets are those that were imported whole, by sequence.
	Sets []Set `json:"sets"`
	// Plan is the digest of the plan that was imported whole last, which the site
	// keeps; "" where there is none.
	Plan digest.Digest `json:"plan,omitempty"`
	// Repositories are those of the last import, as far as it came, by name.
	Repositories []Repository `json:"repositories"`
}

// A Set is an archive that was imported.
type Set struct {
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set"` // of its set manifest
}

// A Repository is what is in one repository, whose name is that of the plan.
type Repository struct {
	Name   string  `json:"name"`
	Images []Image `json:"images,omitempty"` // by digest
	// Blobs are those of the images, by digest. One that several repositories hold
	// is named in the first of them.
	Blobs []Blob `json:"blobs,omitempty"`
}

// An Image is a root manifest, with everything below it.
type Image struct {
	Digest digest.Digest `json:"digest"`
	Tags   []string      `json:"tags,omitempty"` // sorted
}

// A Blob is a blob of an image.
type Blob struct {
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"` // bytes
}

// Read reads a receipt, which may come from anybody. What it does not know is an
// error.
func Read(in io.Reader) (*Receipt, error) {
	r := &Receipt{}
	err := document.Read(in, MaxSize, r)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the receipt: %w", err)
	}
	return r, nil
}

func (r *Receipt) check() error {
	if err := (document.Head{Kind: r.Kind, Version: r.Version, Name: r.Name}).Check(kind, version); err != nil {
		return err
	}
	if r.Plan != "" {
		if err := layout.CheckDigest(r.Plan); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	last := 0
	for _, s := range r.Sets {
		if s.Sequence <= last || s.Sequence > document.MaxSequence {
			return fmt.Errorf("sets: sequence %d after %d", s.Sequence, last)
		}
		if err := layout.CheckDigest(s.Set); err != nil {
			return fmt.Errorf("sets: sequence %d: %w", s.Sequence, err)
		}
		last = s.Sequence
	}
	before := ""
	blobs := map[digest.Digest]struct{}{}
	for i := range r.Repositories {
		repository := &r.Repositories[i]
		switch {
		case !reference.IsPath(repository.Name):
			return fmt.Errorf("repository %.80q", repository.Name)
		case repository.Name <= before:
			return fmt.Errorf("repository %s does not come after %s", repository.Name, before)
		}
		if err := repository.check(blobs); err != nil {
			return fmt.Errorf("repository %s: %w", repository.Name, err)
		}
		before = repository.Name
	}
	return nil
}

// check looks at a repository; blobs are those that were named before.
func (r *Repository) check(blobs map[digest.Digest]struct{}) error {
	var before digest.Digest
	for _, img := range r.Images {
		if err := layout.CheckDigest(img.Digest); err != nil {
			return err
		}
		if img.Digest <= before {
			return fmt.Errorf("image %s does not come after %s", img.Digest, before)
		}
		before = img.Digest
		for i, tag := range img.Tags {
			if tag == "" || len(tag) > 128 || i > 0 && tag <= img.Tags[i-1] {
				return fmt.Errorf("image %s: tag %.140q", img.Digest, tag)
			}
		}
	}
	before = ""
	for _, b := range r.Blobs {
		if err := layout.CheckDigest(b.Digest); err != nil {
			return err
		}
		if _, twice := blobs[b.Digest]; twice || b.Digest <= before || b.Size < 0 {
			return fmt.Errorf("blob %s of %d bytes after %s: each is named once, in order", b.Digest, b.Size, before)
		}
		blobs[b.Digest], before = struct{}{}, b.Digest
	}
	return nil
}

// Write writes the receipt, which need not have kind and version yet, with a line
// for every repository. The same receipt gives the same bytes.
func (r *Receipt) Write(out io.Writer) error {
	r.Kind, r.Version = kind, version
	if r.Sets == nil {
		r.Sets = []Set{}
	}
	if r.Repositories == nil {
		r.Repositories = []Repository{}
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("writing the receipt: %w", err)
	}
	w := &lines{out: out}
	head := *r
	head.Repositories = []Repository{}
	w.open(head)
	for i := range r.Repositories {
		repository := &r.Repositories[i]
		w.comma(i)
		w.value(repository)
	}
	w.text("\n]}\n")
	return w.flush()
}

// Imported reports whether a set was imported whole.
func (r *Receipt) Imported(s Set) bool { return slices.Contains(r.Sets, s) }

// Enter notes that a set was imported whole, in place of another of its sequence.
func (r *Receipt) Enter(s Set) {
	i, found := slices.BinarySearchFunc(r.Sets, s.Sequence, func(have Set, sequence int) int { return have.Sequence - sequence })
	if found {
		r.Sets[i] = s
		return
	}
	r.Sets = slices.Insert(r.Sets, i, s)
}
