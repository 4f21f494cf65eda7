package archive

import (
	"errors"
	"fmt"
	"iter"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	refs "github.com/gantry-mirror/gantry/pkg/reference"
)

// Content is the content of a new archive.
type Content struct {
	// Name is the name of the series of archives: the plan's name. It has letters, digits, dots,
	// dashes and underscores. It may be empty.
	Name string
	// Plan writes the plan for the disconnected side. The archive compresses it and does not
	// interpret it.
	Plan WriteFunc
	// PlanDigest is the digest of what Plan writes, if it is known, or "".
	PlanDigest digest.Digest
	// Index are the manifests of index.json. All must be among Entries. Nil means none. It is
	// iterated several times.
	Index iter.Seq[ocispec.Descriptor]
	// Entries are all manifests and blobs, each digest once. A manifest is recognized by its media
	// type. They are iterated several times.
	Entries iter.Seq[ocispec.Descriptor]
	// Deltas are the blobs among Entries that are carried as deltas. The Writer reads the delta files
	// itself: PutBlob of such a blob does not open it. Files of deltas of CompactFormat are written in this order, after
	// all other content.
	Deltas []CarriedDelta

	packedPlan *packedPlan // what Plan is known to write; may be nil
}

// entries returns the entries.
func (c *Content) entries() iter.Seq[ocispec.Descriptor] {
	if c.Entries == nil {
		return func(func(ocispec.Descriptor) bool) {}
	}
	return c.Entries
}

// check refuses content that would make an unreadable archive.
func (c *Content) check(o *Options) error {
	if !refs.IsSetName(c.Name) {
		return fmt.Errorf("the name %.60q: use up to 255 letters, digits, dots, dashes and underscores, no dot or dash first", c.Name)
	}
	sizes := map[digest.Digest]int64{}
	for d := range c.entries() {
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
	if err := o.checkDeltas(sizes, c.Deltas); err != nil {
		return err
	}
	if c.Index != nil {
		for m := range c.Index {
			if size, ok := sizes[m.Digest]; !ok || size != m.Size {
				return fmt.Errorf("the index names %s of %d bytes, which is not among the content", m.Digest, m.Size)
			}
		}
	}
	return nil
}

// check refuses options that contradict each other or the content.
func (o *Options) check(c *Content) error {
	switch {
	case o.Repair == nil && c.Plan == nil:
		return errors.New("the content has no plan")
	case o.Repair != nil && (o.Base != nil || o.Replace):
		return errors.New("a repair neither builds on other sets nor replaces them")
	case o.Base != nil && o.Replace:
		return errors.New("a set that builds on others cannot replace them: keep them, or write all content")
	case o.Base != nil && (len(o.Base.Sets) == 0 || o.Base.Has == nil):
		return errors.New("a base must name its sets and its content")
	}
	if o.Encrypt != nil {
		if err := o.Encrypt.Check(); err != nil {
			return err
		}
	}
	if o.Strict {
		return c.checkFits(o)
	}
	return nil
}

// checkFits refuses content that is larger than a volume.
func (c *Content) checkFits(o *Options) error {
	enc, err := o.encrypter("")
	if err != nil {
		return err
	}
	carried := byDigest(c.Deltas)
	for d := range c.entries() {
		e := entry{Digest: d.Digest, Size: d.Size}
		if delta := carried[d.Digest]; delta != nil {
			e = entry{Digest: delta.File, Size: delta.FileSize}
		}
		if !e.fits(o.VolumeSize, enc) && !o.omits(d.Digest) {
			return advice.New(advice.Input, "set a larger Options.VolumeSize (archiveSize in the configuration), or leave out Options.StrictArchive",
				"%s of %d bytes does not fit into a volume of %d bytes", d.Digest, d.Size, o.VolumeSize)
		}
	}
	return nil
}

// omits reports whether the set leaves content out because the site has it.
func (o *Options) omits(d digest.Digest) bool {
	return o.Base != nil && o.Base.Has != nil && o.Base.Has(d)
}

// check refuses deltas that cannot be in the archive.
func (o *Options) checkDeltas(entries map[digest.Digest]int64, deltas []CarriedDelta) error {
	if len(deltas) > 0 && o.Repair != nil {
		return fmt.Errorf("a repair cannot have %d deltas", len(deltas))
	}
	var all []*Delta
	promised := func(blob digest.Digest) bool { return o.Base != nil && o.Base.Promises(blob) }
	for i := range deltas {
		d := &deltas[i]
		if err := d.check(); err != nil {
			return err
		}
		if o.Base == nil && d.Format != CompactFormat {
			return fmt.Errorf("an archive with a delta for %s has to build on another one", d.Digest)
		}
		if size, ok := entries[d.Digest]; !ok || size != d.Size || o.omits(d.Digest) {
			return fmt.Errorf("there is a delta for %s of %d bytes, which is not among the content", d.Digest, d.Size)
		}
		if _, ok := entries[d.File]; ok || d.FileSize < 0 || d.Open == nil {
			return fmt.Errorf("the delta %s of %d bytes for %s is not valid", d.File, d.FileSize, d.Digest)
		}
		for _, b := range d.Bases {
			if d.Format != CompactFormat && !promised(b.Digest) {
				return fmt.Errorf("the delta for %s needs %s, which the site is not known to have", d.Digest, b.Digest)
			}
		}
		all = append(all, &d.Delta)
	}
	graph := chains{site: promised, size: func(blob digest.Digest) (int64, bool) {
		size, ok := entries[blob]
		return size, ok && !o.omits(blob)
	}}
	return graph.check(all)
}
