package plan

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// An Explanation says why something is in a plan.
type Explanation struct {
	Images  []ExplainedImage  `json:"images,omitempty"`
	Bundles []ExplainedBundle `json:"bundles,omitempty"`
}

// An ExplainedImage is an image with the bundles that name it.
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
	Lists   []string          `json:"lists,omitempty"`
	Bundles []ExplainedBundle `json:"bundles,omitempty"`
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

// Kept is why a channel keeps a bundle; the words are those of Bundle.
type Kept struct {
	Channel string `json:"channel"`
	Reason  string `json:"reason"`
	For     string `json:"for,omitempty"`
}

// Explain says why the images or bundles of a name are in the plan. The name is
// that of a bundle or of a package, for all its bundles; or else of an image:
// its source, or any part of that which ends at a slash, colon or @, a digest, or
// the place in the mirror. Nothing of that name gives an empty Explanation.
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
	if len(e.Bundles) > 0 {
		return e
	}
	for _, img := range p.Images {
		places := []string{img.Repository}
		for _, tag := range img.Tags {
			places = append(places, img.Repository+":"+tag)
		}
		if called(img.Source, name) || string(img.Digest) == name || slices.Contains(places, name) {
			x := ExplainedImage{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags, Size: img.Size}
			e.Images = append(e.Images, p.explainImage(x, img.Because))
		}
	}
	for _, m := range p.Missing {
		if called(m.Source, name) {
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
