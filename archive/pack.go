package archive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// Content is what an archive shall hold.
type Content struct {
	// Name is what the series of archives is called: the plan's name. It has
	// letters, digits, dots, dashes and underscores; "" is a name too.
	Name string
	// Plan is for the far side. The archive does not look into it.
	Plan Text
	// Index are the manifests of index.json; all have to be among Entries. Nil is
	// none. It is gone through several times.
	Index iter.Seq[ocispec.Descriptor]
	// Entries are all manifests and blobs, each digest once. A manifest is told
	// by its media type.
	Entries []ocispec.Descriptor
}

// A Text writes a file, the same bytes each time that it is called. It may have
// more of them than are to be held in memory.
type Text func(io.Writer) error

// bytesText is a Text that is short enough to be held.
func bytesText(raw []byte) Text {
	return func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	}
}

// measure returns digest and length of the bytes that t writes.
func (t Text) measure() (digest.Digest, int64, error) {
	h := digest.SHA256.Digester()
	n := counter{w: h.Hash()}
	err := t(&n)
	return h.Digest(), n.n, err
}

// A counter counts what is written to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// minVolumeSize leaves room for a label and something beside it.
const minVolumeSize = 16 << 10

// labelSize is what a volume's label takes up: a header, and at most a block.
const labelSize = 2 * blockSize

// maxPlan bounds a plan and an index, in bytes.
const maxPlan = 512 << 20

// A packing is a set whose every byte but the content of the blobs is known.
type packing struct {
	set *set
	// digest and size are those of the set manifest.
	digest digest.Digest
	size   int64
	// files are the entries that are not blobs, by path.
	files map[string]Text
	// oversized are entries that made their volume larger than the limit.
	oversized []entry
}

// pack gives every entry its place: first the files, then manifests by digest,
// then blobs by size, largest first, and digest, each in the first volume that
// has room for it. One that is larger than a volume gets a volume of its own.
func pack(c Content, sequence int, parent digest.Digest, volumeSize int64) (*packing, error) {
	index := c.Index
	if index == nil {
		index = func(func(ocispec.Descriptor) bool) {}
	}
	marker, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return nil, err
	}
	p := &packing{
		set: &set{
			Format: format, Features: []string{}, Sequence: sequence, Parent: parent, VolumeSize: volumeSize,
		},
		files: map[string]Text{
			markerPath: bytesText(marker),
			indexPath:  func(w io.Writer) error { return layout.WriteIndex(w, index) },
			planPath:   c.Plan,
		},
	}
	var first []entry
	for _, path := range []string{markerPath, indexPath, planPath} {
		e := entry{Path: path}
		if e.Digest, e.Size, err = p.files[path].measure(); err != nil {
			return nil, err
		}
		if e.Size > maxPlan {
			return nil, fmt.Errorf("a %s of %d bytes: the limit is %d", path, e.Size, maxPlan)
		}
		if path == planPath {
			p.set.Plan = e.Digest
		}
		first = append(first, e)
	}
	if err := p.place(first, sorted(c.Entries)); err != nil {
		return nil, err
	}
	if err := p.label(); err != nil {
		return nil, err
	}
	for i := range p.set.Volumes {
		v := &p.set.Volumes[i]
		v.Frame = frame(v.Entries)
	}
	if p.digest, p.size, err = Text(p.set.write).measure(); err == nil && p.size > maxSet {
		err = fmt.Errorf("a set manifest of %d bytes: the limit is %d", p.size, maxSet)
	}
	return p, err
}

// sorted brings manifests and blobs into the order of the volumes.
func sorted(descs []ocispec.Descriptor) []entry {
	entries := make([]entry, 0, len(descs))
	for _, d := range descs {
		e := entry{Digest: d.Digest, Size: d.Size}
		if manifest.Is(d.MediaType) {
			e.MediaType = d.MediaType
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		am, bm := a.MediaType != "", b.MediaType != ""
		switch {
		case am && bm:
			return strings.Compare(string(a.Digest), string(b.Digest))
		case am:
			return -1
		case bm:
			return 1
		}
		return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(string(a.Digest), string(b.Digest)))
	})
	return entries
}

// all goes through the entries of several lists.
func all(lists [][]entry) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, list := range lists {
			for _, e := range list {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// place adds entries to volumes.
func (p *packing) place(todo ...[]entry) error {
	s := p.set
	var ends []int64 // of what the volumes hold
	open := 0        // the volumes before have no room for anything
	for e := range all(todo) {
		before := preludeSize(e.path())
		need := before + padded(e.Size)
		at := len(s.Volumes)
		if e.Path != "" && at > 0 {
			at = 0 // the files stand together
		}
		for i := open; i < at; i++ {
			if ends[i]+need+trailerSize <= s.VolumeSize {
				at = i
			}
		}
		if at == len(s.Volumes) {
			if at == maxVolumes {
				return fmt.Errorf("volumes of %d bytes make more than %d volumes: choose a larger size", s.VolumeSize, maxVolumes)
			}
			s.Volumes = append(s.Volumes, volume{Name: volumeName(s.Sequence, at+1), Entries: []entry{{Path: labelPath(s.Sequence, at+1), Offset: blockSize}}})
			ends = append(ends, labelSize)
		}
		if ends[at]+need+trailerSize > s.VolumeSize {
			p.oversized = append(p.oversized, e)
		}
		e.Offset = ends[at] + before
		ends[at] += need
		v := &s.Volumes[at]
		v.Entries = append(v.Entries, e)
		v.Size = ends[at] + trailerSize
		for open < len(ends) && ends[open]+blockSize+trailerSize > s.VolumeSize {
			open++
		}
	}
	return nil
}

// label fills in the volumes' first entries, whose place is known.
func (p *packing) label() error {
	s := p.set
	for i := range s.Volumes {
		raw, err := json.Marshal(label{
			Format: s.Format, Sequence: s.Sequence, Volume: i + 1, Volumes: len(s.Volumes), VolumeSize: s.VolumeSize, Plan: s.Plan,
		})
		if err != nil {
			return err
		}
		e := &s.Volumes[i].Entries[0]
		e.Digest, e.Size = digest.FromBytes(raw), int64(len(raw))
		p.files[e.Path] = bytesText(raw)
	}
	return nil
}

// check looks for what would make an archive that cannot be read.
func (c *Content) check() error {
	sizes := make(map[digest.Digest]int64, len(c.Entries))
	for _, d := range c.Entries {
		if err := layout.CheckDigest(d.Digest); err != nil {
			return err
		}
		if d.Size < 0 || d.Size > 1<<60 {
			return fmt.Errorf("%s has the size %d", d.Digest, d.Size)
		}
		if _, twice := sizes[d.Digest]; twice {
			return fmt.Errorf("%s is there twice", d.Digest)
		}
		sizes[d.Digest] = d.Size
	}
	if c.Index != nil {
		for m := range c.Index {
			if size, ok := sizes[m.Digest]; !ok || size != m.Size {
				return fmt.Errorf("the index names %s of %d bytes, which is not among the content", m.Digest, m.Size)
			}
		}
	}
	if c.Plan == nil {
		return errors.New("there is no plan")
	}
	return nil
}

// fits looks for what is larger than a volume.
func (c *Content) fits(volumeSize int64) error {
	for _, d := range c.Entries {
		e := entry{Digest: d.Digest, Size: d.Size}
		if labelSize+preludeSize(e.path())+padded(e.Size)+trailerSize > volumeSize {
			return fmt.Errorf("%s of %d bytes does not fit into a volume of %d bytes: choose larger volumes (--volume-size or archiveSize), or leave out --strict-archive", d.Digest, d.Size, volumeSize)
		}
	}
	return nil
}
