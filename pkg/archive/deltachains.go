package archive

import (
	"fmt"

	"github.com/opencontainers/go-digest"
)

const (
	// maxDepth is how many deltas of one set a blob may need one after another.
	maxDepth = 8
	// maxNeeded is how many deltas of one set a blob may need in all, each counted as often as another is based on it.
	// Without a limit, a few deltas could take years to apply.
	maxNeeded = 255
)

// A chain is what a blob that is carried as a delta needs of its own set.
type chain struct {
	depth  int // deltas one after another, its own included
	needed int // deltas, its own included
	open   bool
}

// chains checks the deltas of a set that are based on each other.
type chains struct {
	deltas map[digest.Digest]*Delta
	known  map[digest.Digest]chain
	size   func(blob digest.Digest) (n int64, ok bool) // of a blob that the set has, whole or as a delta
	site   func(blob digest.Digest) bool               // reports whether the site may have it
}

// check returns why the deltas are refused. Those of the first format are based on what the site has, and not checked.
func (c *chains) check(all []*Delta) error {
	c.deltas, c.known = make(map[digest.Digest]*Delta, len(all)), make(map[digest.Digest]chain, len(all))
	for _, d := range all {
		c.deltas[d.Digest] = d
	}
	for _, d := range all {
		if d.Format != CompactFormat {
			continue
		}
		for _, b := range d.Bases {
			size, ok := c.size(b.Digest)
			switch {
			case ok && size != b.Size:
				return fmt.Errorf("deltas: %s is based on %s of %d bytes, which has %d", d.Digest, b.Digest, b.Size, size)
			case !ok && !c.site(b.Digest):
				return fmt.Errorf("deltas: %s is based on %s, which neither the set nor the site has", d.Digest, b.Digest)
			}
		}
		if err := c.follow(d, 1); err != nil {
			return fmt.Errorf("deltas: %s %w", d.Digest, err)
		}
	}
	return nil
}

// follow finds the chain of a delta that is needed at a depth.
func (c *chains) follow(d *Delta, depth int) error {
	this, known := c.known[d.Digest]
	switch {
	case this.open:
		return fmt.Errorf("is based on itself, through %d deltas", depth-1)
	case known:
		return nil
	case depth > maxDepth:
		return fmt.Errorf("needs more than %d deltas of the set, one after another", maxDepth)
	}
	this = chain{depth: 1, needed: 1, open: true}
	c.known[d.Digest] = this
	for _, b := range d.Bases {
		base := c.deltas[b.Digest]
		if base == nil || d.Format != CompactFormat {
			continue
		}
		if err := c.follow(base, depth+1); err != nil {
			return err
		}
		of := c.known[base.Digest]
		this.depth, this.needed = max(this.depth, of.depth+1), this.needed+of.needed
	}
	switch {
	case this.depth > maxDepth:
		return fmt.Errorf("needs %d deltas of the set one after another, and at most %d are allowed", this.depth, maxDepth)
	case this.needed > maxNeeded:
		return fmt.Errorf("needs more than %d deltas of the set", maxNeeded)
	}
	this.open = false
	c.known[d.Digest] = this
	return nil
}
