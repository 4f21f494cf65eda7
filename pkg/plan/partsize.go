package plan

import (
	"slices"

	"github.com/opencontainers/go-digest"
)

// A PartSize is the size of a part of a plan, such as a package or a release: its images, and their content, counted
// once. Own is the content, and OwnImages the number of images, that no other part needs. Sizes are in bytes.
type PartSize struct {
	Images, OwnImages int
	Bytes, Own        int64
}

// PartSizes returns the size of each part of the plan. of returns the part that a reason of an image belongs to, or "". Parts share
// content, so the sum of Bytes may exceed the total. The result is nil if the plan's content is unknown.
func (p *Plan) PartSizes(of func(*Image, Reason) string) map[string]PartSize {
	contents, err := p.Contents()
	if err != nil {
		return nil
	}
	type content struct {
		size  int64
		parts []string
	}
	all := map[digest.Digest]*content{}
	sizes := map[string]PartSize{}
	var counted []string // the parts of an image
	for i := range p.Images {
		counted = counted[:0]
		for _, because := range p.Images[i].Reasons {
			if name := of(&p.Images[i], because); name != "" && !slices.Contains(counted, name) {
				counted = append(counted, name)
			}
		}
		if len(counted) == 0 {
			continue
		}
		add := func(d digest.Digest, n int64) {
			c := all[d]
			if c == nil {
				c = &content{size: n}
				all[d] = c
			}
			for _, name := range counted {
				if !slices.Contains(c.parts, name) {
					c.parts = append(c.parts, name)
				}
			}
		}
		for _, name := range counted {
			s := sizes[name]
			s.Images++
			if len(counted) == 1 {
				s.OwnImages++
			}
			sizes[name] = s
		}
		_ = contents.Walk(p.Images[i].Digest, // a plan that was read has all manifests
			func(m *Manifest) error { add(m.Digest, m.Size); return nil },
			func(blob Blob) error { add(blob.Digest, blob.Size); return nil })
	}
	for _, c := range all {
		for _, name := range c.parts {
			s := sizes[name]
			s.Bytes += c.size
			if len(c.parts) == 1 {
				s.Own += c.size
			}
			sizes[name] = s
		}
	}
	return sizes
}
