package plan

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// An Explanation says why something is in a plan.
type Explanation struct {
	Images   []ExplainedImage   `json:"images,omitempty"`
	Bundles  []ExplainedBundle  `json:"bundles,omitempty"`
	Releases []ExplainedRelease `json:"releases,omitempty"`
}

// An ExplainedImage is an image with the bundles and releases that name it.
type ExplainedImage struct {
	Source     string        `json:"source"`
	Digest     digest.Digest `json:"digest,omitempty"` // "" for one that is missing or blocked
	Repository string        `json:"repository,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	Size       int64         `json:"size,omitempty"` // in bytes, before sharing
	// Missing is why the source did not give it, Blocked the pattern that leaves
	// it out; mostly "".
	Missing string `json:"missing,omitempty"`
	Blocked string `json:"blocked,omitempty"`
	// Lists are the lists of the configuration that name it themselves.
	Lists    []string           `json:"lists,omitempty"`
	Bundles  []ExplainedBundle  `json:"bundles,omitempty"`
	Releases []ExplainedRelease `json:"releases,omitempty"`
}

// An ExplainedBundle is a bundle with the reasons for which its channels keep it.
type ExplainedBundle struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// As are the names that the bundle gives the image in question.
	As       []string `json:"as,omitempty"`
	Channels []Kept   `json:"channels"`
}

// An ExplainedRelease is a platform release with what it was taken for.
type ExplainedRelease struct {
	Name string `json:"name"` // "4.20.1-x86_64"
	// As are the names of the components that the image in question is.
	As      []string        `json:"as,omitempty"`
	Reasons []ReleaseReason `json:"reasons"`
	// Updates are the paths that have the release on them.
	Updates []ExplainedPath `json:"updates,omitempty"`
}

// An ExplainedPath is an UpdatePath without its hops.
type ExplainedPath struct {
	Channel string `json:"channel"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// Kept is why a channel keeps a bundle; the words are those of Bundle.
type Kept struct {
	Channel string `json:"channel"`
	Reason  string `json:"reason"`
	For     string `json:"for,omitempty"`
}

// Explain says why the images or bundles of a name are in the plan. The name is
// that of a bundle or of a package, for all its bundles, or the name or version of a
// release; or else of an image: its source, or any part of that which ends at a
// slash, colon or @, a digest, the place in the mirror, or what releases call it
// ("etcd"). Nothing of that name gives an empty Explanation.
func (p *Plan) Explain(name string) Explanation {
	var e Explanation
	for _, c := range p.Catalogs {
		for _, pkg := range c.Packages {
			for _, b := range bundlesOf(pkg) {
				if b == name || pkg.Name == name {
					e.Bundles = append(e.Bundles, p.explainBundle(Because{Catalog: c.Name(), Package: pkg.Name, Bundle: b}))
				}
			}
		}
	}
	for _, r := range p.Releases {
		if r.Version == name || r.Name() == name {
			e.Releases = append(e.Releases, p.explainRelease(r.Name()))
		}
	}
	if len(e.Bundles)+len(e.Releases) > 0 {
		return e
	}
	for _, img := range p.Images {
		places := []string{img.Repository}
		for _, tag := range img.Tags {
			places = append(places, img.Repository+":"+tag)
		}
		if called(img.Source, name) || string(img.Digest) == name || slices.Contains(places, name) || isComponent(img, name) {
			x := ExplainedImage{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags, Size: img.Size}
			e.Images = append(e.Images, p.explainImage(x, img.Because))
		}
	}
	for _, m := range p.Missing {
		if called(m.Source, name) || isComponent(Image{Kind: m.Kind, Because: m.Because}, name) {
			e.Images = append(e.Images, p.explainImage(ExplainedImage{Source: m.Source, Missing: m.Reason}, m.Because))
		}
	}
	for _, b := range p.Blocked {
		if called(b.Source, name) {
			e.Images = append(e.Images, p.explainImage(ExplainedImage{Source: b.Source, Blocked: b.Pattern}, b.Because))
		}
	}
	return e
}

// isComponent reports whether releases call an image by a name. The signatures of
// an image are not meant by it.
func isComponent(img Image, name string) bool {
	return name != "" && (img.Kind == ComponentImage || img.Kind == BootImage) &&
		slices.ContainsFunc(img.Because, func(b Because) bool { return b.Release != "" && b.Name == name })
}

// called reports whether a source is called by a name: in full, or by whole parts
// of it.
func called(source, name string) bool {
	for at := 0; name != ""; {
		i := strings.Index(source[at:], name)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(name)
		if (begin == 0 || strings.ContainsRune("/@:", rune(source[begin-1]))) && (end == len(source) || strings.ContainsRune("/@:", rune(source[end]))) {
			return true
		}
		at = begin + 1
	}
	return false
}

// bundlesOf are the names of a package's bundles, each once, in the order of its
// channels.
func bundlesOf(p Package) []string {
	var all []string
	for _, ch := range p.Channels {
		for _, b := range ch.Bundles {
			if !slices.Contains(all, b.Name) {
				all = append(all, b.Name)
			}
		}
	}
	return all
}

func (p *Plan) explainImage(x ExplainedImage, because []Because) ExplainedImage {
	for _, b := range because {
		if b.List != "" {
			x.Lists = append(x.Lists, b.List)
			continue
		}
		if b.Release != "" {
			i := slices.IndexFunc(x.Releases, func(r ExplainedRelease) bool { return r.Name == b.Release })
			if i < 0 {
				i = len(x.Releases)
				x.Releases = append(x.Releases, p.explainRelease(b.Release))
			}
			if b.Name != "" {
				x.Releases[i].As = append(x.Releases[i].As, b.Name)
			}
			continue
		}
		last := len(x.Bundles) - 1
		if last < 0 || x.Bundles[last].Catalog != b.Catalog || x.Bundles[last].Package != b.Package || x.Bundles[last].Name != b.Bundle {
			x.Bundles = append(x.Bundles, p.explainBundle(b))
			last++
		}
		if b.Name != "" {
			x.Bundles[last].As = append(x.Bundles[last].As, b.Name)
		}
	}
	return x
}

func (p *Plan) explainBundle(b Because) ExplainedBundle {
	x := ExplainedBundle{Catalog: b.Catalog, Package: b.Package, Name: b.Bundle, Channels: []Kept{}}
	for _, c := range p.Catalogs {
		if c.Name() != b.Catalog {
			continue
		}
		for _, pkg := range c.Packages {
			if pkg.Name != b.Package {
				continue
			}
			for _, ch := range pkg.Channels {
				for _, kept := range ch.Bundles {
					if kept.Name == b.Bundle {
						x.Version = kept.Version
						x.Channels = append(x.Channels, Kept{Channel: ch.Name, Reason: kept.Reason, For: kept.For})
					}
				}
			}
		}
	}
	return x
}

func (p *Plan) explainRelease(name string) ExplainedRelease {
	x := ExplainedRelease{Name: name, Reasons: []ReleaseReason{}}
	i := slices.IndexFunc(p.Releases, func(r Release) bool { return r.Name() == name })
	if i < 0 {
		return x // it went, and what it names stayed
	}
	r := p.Releases[i]
	x.Reasons = r.Reasons
	for _, u := range p.Updates {
		if u.Product == r.Product && u.Arch == r.Arch && u.passes(r.Version) {
			x.Updates = append(x.Updates, ExplainedPath{Channel: u.Channel, From: u.From, To: u.To})
		}
	}
	return x
}

// passes reports whether a version is on the path.
func (u UpdatePath) passes(version string) bool {
	return u.From == version || slices.ContainsFunc(u.Hops, func(h Hop) bool { return h.To == version })
}
