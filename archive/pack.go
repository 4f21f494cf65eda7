package archive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// minVolumeSize leaves room for a label and something beside it.
const minVolumeSize = 16 << 10

// maxPlan bounds a plan and an index, in bytes.
const maxPlan = 512 << 20

// A packing is a set whose every byte but the content, and the digests of parts
// of content, is known.
type packing struct {
	set *set
	// outer is the set as it stands in the set manifest: set itself, or, where that is
	// encrypted, what is said of it in the open.
	outer *set
	// digest and size are those of the set manifest. Where content is in parts,
	// it is without their digests until Finish, and so is encrypted content.
	digest digest.Digest
	size   int64
	sealer *sealer // nil where nothing is encrypted
	// files are the entries that are not content, by path.
	files map[string]Text
	// oversized are files that made the first volume larger than the limit.
	oversized []entry
}

// pack gives every entry its place: first the files, then manifests by digest,
// then blobs by size, largest first, and digest, each in the first volume that
// has room for it. One that is larger than a volume is cut into parts. An encrypted
// set gets a key of its own, where was, of the same set, does not have one.
func (o *Options) pack(c Content, sequence int, parent digest.Digest, was *encryption) (*packing, error) {
	p := &packing{
		set:   &set{Format: format, Name: c.Name, Sequence: sequence, Parent: parent, VolumeSize: o.VolumeSize},
		files: map[string]Text{},
	}
	if err := p.lineage(o); err != nil {
		return nil, err
	}
	was, key, err := o.keyOf(was)
	if err != nil {
		return nil, err
	}
	if p.sealer, err = o.sealer(key); err != nil {
		return nil, err
	}
	entries, err := p.choose(c, o)
	if err != nil {
		return nil, err
	}
	files, err := p.compose(c, o, entries)
	if err != nil {
		return nil, err
	}
	if err := p.place(files, entries); err != nil {
		return nil, err
	}
	p.set.Features = p.set.features()
	if err := p.label(key); err != nil {
		return nil, err
	}
	if err := p.sum(); err != nil {
		return nil, err
	}
	if o.Encrypt != nil {
		return p, p.seal(o, was)
	}
	p.outer = p.set
	for i := range p.set.Volumes {
		v := &p.set.Volumes[i]
		v.Frame = frame(v.Entries)
	}
	if p.digest, p.size, err = Text(p.set.write).measure(); err == nil && p.size > maxSet {
		err = fmt.Errorf("a set manifest of %d bytes: the limit is %d", p.size, maxSet)
	}
	return p, err
}

// lineage notes what other sets this one belongs to.
func (p *packing) lineage(o *Options) error {
	s := p.set
	bases := func(sets ...BaseSet) ([]base, error) {
		var all []base
		for _, b := range sets {
			if err := layout.CheckDigest(b.Set); err != nil || b.Sequence < 1 || b.Sequence > maxSequence {
				return nil, fmt.Errorf("sequence %d with the set manifest %q is no set to go by", b.Sequence, b.Set)
			}
			all = append(all, base(b))
		}
		return all, nil
	}
	if o.Repair != nil {
		b, err := bases(o.Repair.BaseSet)
		if err != nil {
			return err
		}
		s.Repairs, s.Plan = &b[0], o.Repair.Plan
		return layout.CheckDigest(s.Plan)
	}
	if o.Base == nil {
		return nil
	}
	var err error
	if s.BuildsOn, err = bases(o.Base.Sets...); err != nil {
		return err
	}
	slices.SortFunc(s.BuildsOn, func(a, b base) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for i, b := range s.BuildsOn {
		if i > 0 && b.Sequence == s.BuildsOn[i-1].Sequence {
			return fmt.Errorf("there are two sets of sequence %d to build on, %s and %s", b.Sequence, s.BuildsOn[i-1].Set, b.Set)
		}
		if b.Sequence >= s.Sequence {
			return fmt.Errorf("sequence %d cannot build on sequence %d", s.Sequence, b.Sequence)
		}
	}
	return nil
}

// choose returns the content that the set has, in the order of the volumes, and
// notes what of the rest is needed.
func (p *packing) choose(c Content, o *Options) ([]entry, error) {
	n := 0
	for d := range c.all() {
		if !o.leftOut(d.Digest) {
			n++
		}
	}
	entries := make([]entry, 0, n)
	for d := range c.all() {
		if o.leftOut(d.Digest) {
			if o.Base.Where == nil {
				continue
			}
			if repository := o.Base.Where(d.Digest); repository != "" {
				p.set.Elsewhere = append(p.set.Elsewhere, held{d.Digest, d.Size, repository})
			}
			continue
		}
		e := entry{Digest: d.Digest, Size: d.Size}
		if manifest.Is(d.MediaType) {
			e.MediaType = d.MediaType
		}
		entries = append(entries, e)
	}
	slices.SortFunc(p.set.Elsewhere, func(a, b held) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
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
	for _, h := range p.set.Elsewhere {
		if err := h.check(); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// compose makes the files that stand before content. What the site has of them,
// and what mending a set does not need, is left out.
func (p *packing) compose(c Content, o *Options, entries []entry) ([]entry, error) {
	var files []entry
	add := func(path string, text Text, known digest.Digest) error {
		d, size, err := text.measure()
		if err == nil && size > maxPlan {
			err = fmt.Errorf("a %s of %d bytes: the limit is %d", path, size, maxPlan)
		}
		if err == nil && d != known {
			p.files[path] = text
			files = append(files, entry{Path: path, Digest: d, Size: size})
		}
		return err
	}
	var has Base
	if o.Base != nil {
		has = *o.Base
	}
	if o.Repair == nil {
		marker, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
		if err != nil {
			return nil, err
		}
		if err := add(markerPath, bytesText(marker), ""); err != nil {
			return nil, err
		}
		index := c.Index
		if index == nil {
			index = func(func(ocispec.Descriptor) bool) {}
		}
		if err := add(indexPath, func(w io.Writer) error { return layout.WriteIndex(w, index) }, has.Index); err != nil {
			return nil, err
		}
	}
	if c.Plan != nil {
		e, err := p.addPlan(c.Plan, has.Plan)
		if err != nil {
			return nil, err
		}
		if e != nil {
			files = append(files, *e)
		}
	}
	if slices.ContainsFunc(entries, func(e entry) bool { return !e.fits(o.VolumeSize, p.sealer) }) {
		if err := add(joinPath, bytesText([]byte(joinScript)), ""); err != nil {
			return nil, err
		}
	}
	if o.Repair == nil {
		size := sumsSize(files) + sumsSize(entries)
		p.files[sumsPath] = p.set.writeSums
		files = append(files, entry{Path: sumsPath, Size: size}) // sum fills in the digest
	}
	return files, nil
}

// label fills in the volumes' first entries, whose place is known.
func (p *packing) label(key string) error {
	s := p.set
	for i := range s.Volumes {
		l := label{
			Format: s.Format, Name: s.Name, Sequence: s.Sequence, Repair: s.Repairs != nil,
			Volume: i + 1, Volumes: len(s.Volumes), VolumeSize: s.VolumeSize, Plan: s.Plan,
		}
		if key != "" {
			l.Name, l.Plan, l.Key = "", "", digest.FromString(key)
		}
		raw, err := json.Marshal(l)
		if err != nil {
			return err
		}
		e := &s.Volumes[i].Entries[0]
		e.Digest, e.Size = digest.FromBytes(raw), int64(len(raw))
		p.files[e.Path] = bytesText(raw)
	}
	return nil
}
