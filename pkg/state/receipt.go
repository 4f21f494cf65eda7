package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	receiptKind    = "GantryReceipt"
	receiptVersion = 1
	// MaxReceiptSize is the maximum size of a receipt in bytes.
	MaxReceiptSize = 256 << 20
)

// A Receipt lists what a site has of an image set after an import. The site writes it. With it, the
// connected side writes an archive of exactly what the site is missing, no matter which disks
// arrived. It has no times: the same site gives the same bytes.
type Receipt struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// Name is the name of the image set, and so of its series of archives.
	Name string `json:"name"`
	// Sets are the archives that were imported completely, by sequence.
	Sets []SetRef `json:"sets"`
	// Plan is the digest of the last plan that was imported completely; the site keeps that plan. It
	// is empty if there is none.
	Plan digest.Digest `json:"plan,omitempty"`
	// Reads is what the Gantry that wrote the receipt reads. Versions before deltas did not write it.
	Reads *ArchiveReader `json:"reads,omitempty"`
	// Repositories are the repositories of the last import, as far as it got, by name.
	Repositories []Repository `json:"repositories"`
}

// An ArchiveReader is what a version of Gantry reads of archives.
type ArchiveReader struct {
	// Format is the newest format of archives, and Features are the features in it, sorted.
	Format   int      `json:"format"`
	Features []string `json:"features"`
	// Compressors are the compressors whose output it reproduces, sorted: see recompress.Supported.
	Compressors []string `json:"compressors,omitempty"`
}

// check checks what is read from a receipt.
func (r *ArchiveReader) check() error {
	if r.Format < 1 || r.Format > 1000 {
		return fmt.Errorf("reads: format %d", r.Format)
	}
	for _, list := range [][]string{r.Features, r.Compressors} {
		if len(list) > 1000 {
			return fmt.Errorf("reads: a list of %d names", len(list))
		}
		for i, name := range list {
			if name == "" || len(name) > 200 || i > 0 && name <= list[i-1] {
				return fmt.Errorf("reads: %.210q", name)
			}
		}
	}
	return nil
}

// A Repository lists the content of a repository at a site.
type Repository struct {
	Name   string  `json:"name"`             // as in the plan
	Images []Image `json:"images,omitempty"` // by digest
	// Blobs are the blobs of the images, by digest. A blob that several repositories have is listed in
	// the first of them only.
	Blobs []Blob `json:"blobs,omitempty"`
}

// An Image is a root manifest with everything that it refers to.
type Image struct {
	Digest digest.Digest `json:"digest"`
	Tags   []string      `json:"tags,omitempty"` // sorted
}

// A Blob is a blob of an image.
type Blob struct {
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"` // bytes
}

// ReadReceipt reads a receipt. Unknown fields are an error.
func ReadReceipt(in io.Reader) (*Receipt, error) {
	r := &Receipt{}
	if err := readDocument(in, MaxReceiptSize, r); err != nil {
		return nil, fmt.Errorf("reading the receipt: %w", err)
	}
	return r, nil
}

func (r *Receipt) check() error {
	if err := (header{r.Kind, r.Version, r.Name}).check(receiptKind, receiptVersion); err != nil {
		return err
	}
	if r.Plan != "" {
		if err := layout.CheckDigest(r.Plan); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	if r.Reads != nil {
		if err := r.Reads.check(); err != nil {
			return err
		}
	}
	last := 0
	for _, s := range r.Sets {
		if s.Sequence <= last || s.Sequence > maxSequence {
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

// check checks a repository. blobs are the blobs of earlier repositories.
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

// Write writes the receipt as JSON with a line for every repository. It sets Kind and Version.
func (r *Receipt) Write(out io.Writer) error {
	r.Kind, r.Version = receiptKind, receiptVersion
	if r.Sets == nil {
		r.Sets = []SetRef{}
	}
	if r.Repositories == nil {
		r.Repositories = []Repository{}
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("writing the receipt: %w", err)
	}
	empty := *r
	empty.Repositories = []Repository{}
	head, err := json.Marshal(empty)
	if err != nil {
		return fmt.Errorf("writing the receipt: %w", err)
	}
	w := bufio.NewWriterSize(out, 64<<10)
	_, _ = w.Write(bytes.TrimSuffix(head, []byte("]}"))) // Flush returns the first error
	for i := range r.Repositories {
		text, err := json.Marshal(&r.Repositories[i])
		if err != nil {
			return fmt.Errorf("writing the receipt: %w", err)
		}
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.Write(append([]byte{'\n'}, text...))
	}
	_, _ = w.WriteString("\n]}\n")
	return w.Flush()
}

// Imported reports whether an archive was imported completely.
func (r *Receipt) Imported(s SetRef) bool { return slices.Contains(r.Sets, s) }

// AddSet adds an archive that was imported completely, or replaces the entry of the same sequence.
func (r *Receipt) AddSet(s SetRef) {
	i, found := slices.BinarySearchFunc(r.Sets, s.Sequence, func(have SetRef, sequence int) int { return have.Sequence - sequence })
	if found {
		r.Sets[i] = s
		return
	}
	r.Sets = slices.Insert(r.Sets, i, s)
}
