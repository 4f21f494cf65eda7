package mirror

import (
	"cmp"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// A HeldRelease is a platform release that a mirror holds whole.
type HeldRelease struct {
	Version string       `json:"version"`
	Arch    release.Arch `json:"arch"`
	// Source is the payload by the name that clusters know, and Mirror where it
	// stands, by tag and digest.
	Source string              `json:"source"`
	Mirror reference.Reference `json:"mirror"`
	// Channels are those for which it was chosen, and URL is the erratum.
	Channels   []string         `json:"channels,omitempty"`
	URL        string           `json:"url,omitempty"`
	Signatures []plan.Signature `json:"signatures,omitempty"`
}

// holdReleases notes the releases of the plan that arrived whole, and those that
// the mirror held before; of the graph data, the newest image.
func (h *Holding) holdReleases(p *plan.Plan, names map[string]reference.Reference, out func(plan.Whole, string, string) bool, before *Holding) {
	for _, r := range p.Releases {
		if out(plan.Whole{Release: r.Name()}, r.Source, r.Repository) {
			continue
		}
		at := names[r.Repository]
		at.Tag, at.Digest = r.Tag, r.Digest
		held := HeldRelease{Version: r.Version, Arch: r.Arch, Source: r.Source, Mirror: at, URL: r.URL, Signatures: r.Signatures}
		for _, why := range r.Reasons {
			held.addChannel(why.Channel)
		}
		h.Releases = append(h.Releases, held)
	}
	h.Updates = p.Updates
	if g := p.GraphData; g != nil && !out(plan.Whole{}, g.Base, g.Repository) {
		at := names[g.Repository]
		at.Tag, at.Digest = g.Tag, g.Digest
		h.GraphData = &at
	}
	if before == nil {
		return
	}
	h.Releases = addReleases(h.Releases, before.Releases)
	if h.GraphData == nil {
		h.GraphData = before.GraphData
	}
}

// addChannel notes a channel for which the release was chosen.
func (r *HeldRelease) addChannel(name string) {
	if name != "" && !slices.Contains(r.Channels, name) {
		r.Channels = append(slices.Clip(r.Channels), name)
	}
}

// addReleases adds releases that stand elsewhere than those that are there, and the
// channels of the others.
func addReleases(all, more []HeldRelease) []HeldRelease {
	all = slices.Clone(all)
	for _, r := range more {
		i := slices.IndexFunc(all, func(x HeldRelease) bool {
			return x.Mirror.Repository() == r.Mirror.Repository() && x.Mirror.Tag == r.Mirror.Tag
		})
		if i < 0 {
			all = append(all, r)
			continue
		}
		for _, name := range r.Channels {
			all[i].addChannel(name)
		}
	}
	return all
}

// Platform is what clusters have to be told of the releases.
func (h *Holding) Platform() resources.Platform {
	var p resources.Platform
	bodies := map[digest.Digest][][]byte{}
	for _, r := range h.Releases {
		p.Releases = r.Mirror.Repository()
		for _, s := range r.Signatures {
			if !slices.ContainsFunc(bodies[s.Digest], func(b []byte) bool { return slices.Equal(b, s.Body) }) {
				bodies[s.Digest] = append(bodies[s.Digest], s.Body)
			}
		}
	}
	for d, all := range bodies {
		p.Signatures = append(p.Signatures, resources.Signed{Digest: d, Signatures: all})
	}
	slices.SortFunc(p.Signatures, func(a, b resources.Signed) int { return cmp.Compare(a.Digest, b.Digest) })
	if h.GraphData != nil {
		p.GraphData = *h.GraphData
	}
	return p
}

// kindOf is the group of mirror sets that an image belongs to; "" where clusters do
// not ask for it by the name that its source has.
func kindOf(img *plan.Image) string {
	switch img.Kind {
	case plan.AdditionalImage:
		return "generic"
	case plan.ReleaseImage, plan.ComponentImage, plan.BootImage:
		return "release"
	case plan.SignatureImage, plan.GraphImage:
		return ""
	}
	return "operator"
}
