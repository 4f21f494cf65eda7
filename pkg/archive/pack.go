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

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// minVolumeSize is enough for a label and a small file.
const minVolumeSize = 16 << 10

// maxPlan limits a plan and an index, in bytes. Package plan reads plans up to this size.
const maxPlan = 256 << 20

// A packing is a set for which every byte is known, except the content and the digests of parts of
// content.
type packing struct {
	set *set
	// outer is the set as it is in the set manifest: set itself, or its unencrypted part.
	outer *set
	// digest and size are those of the set manifest. Until Finish, it has no digests of parts
	// and of encrypted files.
	digest    digest.Digest
	size      int64
	encrypter *encrypter // nil if the set is not encrypted
	// files are the entries that are not content, by path.
	files map[string]WriteFunc
	// oversized are files that made the first volume larger than the limit.
	oversized []entry
}

// pack gives every entry its location: first the files, then manifests by digest, then blobs by
// size, largest first, and digest, and then the files of compact deltas as they were given, each in the first volume
// with enough space. An entry that is larger than a volume is split. An encrypted set gets a new key unless was, which belongs to the
// same set, has one.
func (o *Options) pack(c Content, sequence int, parent digest.Digest, was *encryption) (*packing, error) {
	p := &packing{
		set:   &set{Format: format, Name: c.Name, Sequence: sequence, Parent: parent, VolumeSize: o.VolumeSize, FirstVolume: o.firstVolume},
		files: map[string]WriteFunc{},
	}
	if err := p.setReferences(o); err != nil {
		return nil, err
	}
	was, key, err := o.encryptionOf(was)
	if err != nil {
		return nil, err
	}
	if p.encrypter, err = o.encrypter(key); err != nil {
		return nil, err
	}
	entries, err := p.selectContent(c, o)
	if err != nil {
		return nil, err
	}
	files, err := p.buildFiles(c, o, entries)
	if err != nil {
		return nil, err
	}
	if err := p.packEntries(o, files, entries, was); err != nil {
		return nil, err
	}
	if err := p.setLabels(key); err != nil {
		return nil, err
	}
	if err := p.setSums(); err != nil {
		return nil, err
	}
	if o.Encrypt != nil {
		return p, p.encryptLayout(o, was)
	}
	p.outer = p.set
	for i := range p.set.Volumes {
		v := &p.set.Volumes[i]
		v.Frame = frame(v.Entries)
	}
	if p.digest, p.size, err = WriteFunc(p.set.write).measure(); err == nil && p.size > maxSet {
		err = fmt.Errorf("a set manifest of %d bytes: the limit is %d", p.size, maxSet)
	}
	return p, err
}

// setReferences sets the other sets that this one refers to.
func (p *packing) setReferences(o *Options) error {
	s := p.set
	bases := func(sets ...state.SetRef) ([]state.SetRef, error) {
		var all []state.SetRef
		for _, b := range sets {
			if err := layout.CheckDigest(b.Set); err != nil || b.Sequence < 1 || b.Sequence > maxSequence {
				return nil, fmt.Errorf("sequence %d with the set manifest %q is not a valid set", b.Sequence, b.Set)
			}
			all = append(all, b)
		}
		return all, nil
	}
	if o.Repair != nil {
		b, err := bases(o.Repair.SetRef)
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
	elements.Sort(s.BuildsOn, func(a, b state.SetRef) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for i, b := range s.BuildsOn {
		if i > 0 && b.Sequence == s.BuildsOn[i-1].Sequence {
			return fmt.Errorf("two sets with sequence %d are given to build on, %s and %s", b.Sequence, s.BuildsOn[i-1].Set, b.Set)
		}
		if b.Sequence >= s.Sequence {
			return fmt.Errorf("sequence %d cannot build on sequence %d", s.Sequence, b.Sequence)
		}
	}
	return nil
}

// selectContent returns the content of the set, in the order of the volumes, and lists the omitted
// content that is needed.
func (p *packing) selectContent(c Content, o *Options) ([]entry, error) {
	n := 0
	for d := range c.entries() {
		if !o.omits(d.Digest) {
			n++
		}
	}
	entries := make([]entry, 0, n)
	carried := byDigest(c.Deltas)
	p.set.Deltas = sortDeltas(c.Deltas)
	last := map[digest.Digest]int{} // the files of deltas that come after everything else, by their place
	for i := range c.Deltas {
		if c.Deltas[i].Format == CompactFormat {
			last[c.Deltas[i].File] = i + 1
		}
	}
	for d := range c.entries() {
		if o.omits(d.Digest) {
			if o.Base.RepositoryOf == nil {
				continue
			}
			if repository := o.Base.RepositoryOf(d.Digest); repository != "" {
				p.set.Omitted = append(p.set.Omitted, omitted{d.Digest, d.Size, repository})
			}
			continue
		}
		e := entry{Digest: d.Digest, Size: d.Size}
		if delta := carried[d.Digest]; delta != nil {
			e = entry{Digest: delta.File, Size: delta.FileSize}
		} else if manifest.Is(d.MediaType) {
			e.MediaType = d.MediaType
		}
		entries = append(entries, e)
	}
	elements.Sort(p.set.Omitted, func(a, b omitted) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	elements.Sort(entries, func(a, b entry) int {
		am, bm := a.MediaType != "", b.MediaType != ""
		al, bl := last[a.Digest], last[b.Digest]
		switch {
		case al != bl:
			return cmp.Compare(al, bl)
		case am && bm:
			return strings.Compare(string(a.Digest), string(b.Digest))
		case am:
			return -1
		case bm:
			return 1
		}
		return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(string(a.Digest), string(b.Digest)))
	})
	for _, h := range p.set.Omitted {
		if err := h.check(); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// buildFiles builds the files before the content. Files that the site has, or that a repair does
// not need, are left out.
func (p *packing) buildFiles(c Content, o *Options, entries []entry) ([]entry, error) {
	var files []entry
	add := func(path string, text WriteFunc, known digest.Digest) error {
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
		if err := add(markerPath, writeBytes(marker), ""); err != nil {
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
		e, err := p.addPlan(&c, has.Plan)
		if err != nil {
			return nil, err
		}
		if e != nil {
			files = append(files, *e)
		}
	}
	if slices.ContainsFunc(entries, func(e entry) bool { return !e.fits(o.VolumeSize, p.encrypter) }) {
		if err := add(joinPath, writeBytes([]byte(joinScript)), ""); err != nil {
			return nil, err
		}
	}
	if len(p.set.Deltas) > 0 {
		if err := add(deltasPath, writeBytes([]byte(p.set.deltasText())), ""); err != nil {
			return nil, err
		}
	}
	if o.Repair == nil {
		size := sumsSize(files) + sumsSize(entries) + sumsSize(rebuilt(p.set.Deltas))
		p.files[sumsPath] = p.set.writeSums
		files = append(files, entry{Path: sumsPath, Size: size}) // sum fills in the digest
	}
	return files, nil
}

// setLabels fills in the volumes' first entries, whose location is known.
func (p *packing) setLabels(key string) error {
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
		p.files[e.Path] = writeBytes(raw)
	}
	return nil
}

// packEntries adds files and content to volumes, and then the copy of the set manifest. was is how the
// set is encrypted.
func (p *packing) packEntries(o *Options, files, content []entry, was *encryption) error {
	l := &packer{set: p.set, encrypter: p.encrypter}
	if err := l.addVolume(); err != nil {
		return err
	}
	var size float64
	for _, e := range content {
		size += float64(e.Size)
	}
	share := min(1, float64(p.set.VolumeSize)/max(size, 1)) // of the first volume
	p.set.Volumes[0].Entries = slices.Grow(p.set.Volumes[0].Entries, len(files)+1+int(share*float64(len(content))))
	for _, e := range files { // they are kept together
		if l.freeSpace(0, l.encrypter.headerSize(&e)) < l.encrypter.paddedSize(e.Size) {
			p.oversized = append(p.oversized, e)
		}
		l.appendEntry(0, e, l.encrypter.paddedSize(e.Size))
	}
	for _, e := range content {
		if err := l.add(e); err != nil {
			return err
		}
	}
	p.set.Features = p.set.features()
	return p.addCopy(o, l, was)
}
