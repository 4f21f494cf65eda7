package archive

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// Content is what an archive shall hold.
type Content struct {
	// Name is what the series of archives is called: the plan's name. It has
	// letters, digits, dots, dashes and underscores; "" is a name too.
	Name string
	// Plan is for the far side. The archive compresses it, and does not look into it.
	Plan Text
	// Index are the manifests of index.json; all have to be among Entries. Nil is
	// none. It is gone through several times.
	Index iter.Seq[ocispec.Descriptor]
	// Entries are all manifests and blobs, each digest once. A manifest is told
	// by its media type. They are gone through several times.
	Entries iter.Seq[ocispec.Descriptor]
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

// all are the entries.
func (c *Content) all() iter.Seq[ocispec.Descriptor] {
	if c.Entries == nil {
		return func(func(ocispec.Descriptor) bool) {}
	}
	return c.Entries
}

// check looks for what would make an archive that cannot be read.
func (c *Content) check() error {
	if !seriesName.MatchString(c.Name) {
		return fmt.Errorf("the name %.60q: use up to 255 letters, digits, dots, dashes and underscores, no dot or dash first", c.Name)
	}
	sizes := map[digest.Digest]int64{}
	for d := range c.all() {
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
	return nil
}

// check looks for options that contradict each other or the content.
func (o *Options) check(c *Content) error {
	switch {
	case o.Repair == nil && c.Plan == nil:
		return errors.New("there is no plan")
	case o.Repair != nil && (o.Base != nil || o.Replace):
		return errors.New("what mends a set builds on no other and takes no other's place")
	case o.Base != nil && o.Replace:
		return errors.New("a set that builds on others cannot take their place: keep them, or write all content")
	case o.Base != nil && (len(o.Base.Sets) == 0 || o.Base.Holds == nil):
		return errors.New("a base has to name the sets that brought it, and what it holds")
	}
	if o.Encrypt != nil {
		if err := o.Encrypt.Check(); err != nil {
			return err
		}
	}
	if o.Strict {
		return c.fits(o)
	}
	return nil
}

// fits looks for what is larger than a volume.
func (c *Content) fits(o *Options) error {
	how, err := o.sealer("")
	if err != nil {
		return err
	}
	for d := range c.all() {
		e := entry{Digest: d.Digest, Size: d.Size}
		if !e.fits(o.VolumeSize, how) && !o.leftOut(d.Digest) {
			return fmt.Errorf("%s of %d bytes does not fit into a volume of %d bytes: choose larger volumes (--volume-size or archiveSize), or leave out --strict-archive", d.Digest, d.Size, o.VolumeSize)
		}
	}
	return nil
}

// leftOut reports whether the site has the content, so that the set does not.
func (o *Options) leftOut(d digest.Digest) bool {
	return o.Base != nil && o.Base.Holds != nil && o.Base.Holds(d)
}
