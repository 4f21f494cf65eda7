package deltamaker

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// New returns how many new blobs may be compared with each other, and the size of the largest.
func (c *Chooser) New() (all Amount, largest int64, err error) {
	seen := map[digest.Digest]bool{}
	contents, err := c.Plan.Contents()
	if err != nil {
		return all, largest, err
	}
	for i := range c.Plan.Images {
		err := contents.Walk(c.Plan.Images[i].Digest, func(*plan.Manifest) error { return nil }, func(b plan.Blob) error {
			if !seen[b.Digest] && b.Size >= minBlob && c.IsNew(b.Digest) {
				seen[b.Digest] = true
				all.add(b.Size)
				largest = max(largest, b.Size)
			}
			return nil
		})
		if err != nil {
			return all, largest, err
		}
	}
	return all, largest, nil
}

// NeedsSite reports whether a delta is based on something that the site has, after Changes was called.
func (c *Chooser) NeedsSite(d archive.CarriedDelta) bool {
	return slices.ContainsFunc(d.Bases, func(b archive.DeltaBase) bool {
		_, ok := c.has[b.Digest]
		return ok
	})
}

// Consider returns how many new blobs may be based on something: those for whose repositories the site has other blobs
// that can be read where they came from. It reads nothing, so it does not know whether the blobs are similar.
func (c *Chooser) Consider() (Amount, error) {
	contents, err := c.Plan.Contents()
	if err != nil {
		return Amount{}, err
	}
	c.indexSite()
	bases := map[string][]digest.Digest{} // by repository
	for i := range c.Site.Repositories {
		r := &c.Site.Repositories[i]
		for _, b := range r.Blobs {
			if b.Size >= minBlob && c.has[b.Digest].Source != "" {
				bases[r.Name] = append(bases[r.Name], b.Digest)
			}
		}
	}
	var all Amount
	seen := map[digest.Digest]bool{}
	for i := range c.Plan.Images {
		img := &c.Plan.Images[i]
		var blobs []plan.Blob
		same := map[digest.Digest]bool{}
		err := contents.Walk(img.Digest, func(*plan.Manifest) error { return nil }, func(b plan.Blob) error {
			blobs = append(blobs, b)
			same[b.Digest] = true
			return nil
		})
		if err != nil {
			return Amount{}, err
		}
		if !slices.ContainsFunc(bases[img.Repository], func(d digest.Digest) bool { return !same[d] }) {
			continue
		}
		for _, b := range blobs {
			if !seen[b.Digest] && b.Size >= minBlob && c.IsNew(b.Digest) {
				seen[b.Digest] = true
				all.add(b.Size)
			}
		}
	}
	return all, nil
}
