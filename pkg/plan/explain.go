package plan

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// An Explanation is the reasons why something is in a plan.
type Explanation struct {
	Images   []ExplainedImage   `json:"images,omitempty"`
	Bundles  []ExplainedBundle  `json:"bundles,omitempty"`
	Releases []ExplainedRelease `json:"releases,omitempty"`
	Charts   []ExplainedChart   `json:"charts,omitempty"`
}

// An ExplainedImage is an image with the bundles and releases that name it.
type ExplainedImage struct {
	Source     string        `json:"source"`
	Digest     digest.Digest `json:"digest,omitempty"` // "" for one that is missing or blocked
	Repository string        `json:"repository,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	Size       int64         `json:"size,omitempty"` // in bytes, before sharing
	// Subject is the manifest that the image belongs to, and Of the source of the image with it; both
	// are "" for most images.
	Subject digest.Digest `json:"subject,omitempty"`
	Of      string        `json:"of,omitempty"`
	// ArtifactType and PredicateType are those of the image.
	ArtifactType  string `json:"artifactType,omitempty"`
	PredicateType string `json:"predicateType,omitempty"`
	// RewrittenFrom and NotRewritten are those of the image.
	RewrittenFrom digest.Digest `json:"rewrittenFrom,omitempty"`
	NotRewritten  string        `json:"notRewritten,omitempty"`
	// NamedBy is the one of the image, and Format the format of the plan if the image was converted.
	NamedBy string          `json:"namedBy,omitempty"`
	Format  manifest.Format `json:"format,omitempty"`
	// Signers are who signed it, by the signature policy.
	Signers []Signer `json:"signers,omitempty"`
	// Signatures is how many OpenPGP signatures the plan carries for it.
	Signatures int `json:"signatures,omitempty"`
	// Missing is the reason why the image is unavailable, Blocked the pattern of blockedImages that
	// matches it; usually both are "".
	Missing string `json:"missing,omitempty"`
	Blocked string `json:"blocked,omitempty"`
	// Lists are the lists of the configuration that name the image.
	Lists []string `json:"lists,omitempty"`
	// Rules are the rules for tags that selected the image.
	Rules    []string           `json:"rules,omitempty"`
	Bundles  []ExplainedBundle  `json:"bundles,omitempty"`
	Releases []ExplainedRelease `json:"releases,omitempty"`
	Charts   []NamingChart      `json:"charts,omitempty"`
	// File is the name of the file whose artifact the image is.
	File string `json:"file,omitempty"`
}

// An ExplainedBundle is a bundle with the reasons why its channels keep it.
type ExplainedBundle struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// ImageNames are the names of the image in the bundle.
	ImageNames []string        `json:"as,omitempty"`
	Channels   []ChannelReason `json:"channels"`
	// Features are what the bundle declares; nil if that is nothing or unknown.
	Features *DeclaredFeatures `json:"features,omitempty"`
	// FeaturesUnknown says that what the bundle declares could not be found out.
	FeaturesUnknown bool `json:"featuresUnknown,omitempty"`
}

// An ExplainedRelease is a platform release with the reasons why it was selected.
type ExplainedRelease struct {
	Name string `json:"name"` // "4.20.1-x86_64"
	// Erratum is the address of its erratum, or "".
	Erratum string `json:"erratum,omitempty"`
	// ComponentNames are the names of the image as components of the release.
	ComponentNames []string        `json:"as,omitempty"`
	Reasons        []ReleaseReason `json:"reasons"`
	// Updates are the update paths through the release.
	Updates []ExplainedPath `json:"updates,omitempty"`
}

// An ExplainedPath is an UpdatePath without its hops.
type ExplainedPath struct {
	Channel string `json:"channel"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// A ChannelReason is the reason why a channel keeps a bundle. The values are those of Bundle.
type ChannelReason struct {
	Channel string `json:"channel"`
	Reason  string `json:"reason"`
	For     string `json:"for,omitempty"`
}

// Explain returns why the images or bundles with a name are in the plan. The name can be the name of
// a bundle, the name of a package (for all its bundles), the name or version of a release, or the name of
// a chart.
// Otherwise it identifies an image: by its source, any part of the source that ends at a slash, colon
// or @, its digest, its repository or tag in the mirror, the component of a release ("etcd"), or the name of a
// file. If
// nothing has the name, the Explanation is empty.
func (p *Plan) Explain(name string) Explanation {
	var e Explanation
	for _, c := range p.Catalogs {
		for _, pkg := range c.Packages {
			for _, b := range bundlesOf(pkg) {
				if b == name || pkg.Name == name {
					e.Bundles = append(e.Bundles, p.explainBundle(Reason{Catalog: c.Name(), Package: pkg.Name, Bundle: b}))
				}
			}
		}
	}
	for _, r := range p.Releases {
		if r.Version == name || r.Name() == name {
			e.Releases = append(e.Releases, p.explainRelease(r.Name()))
		}
	}
	e.Charts = p.explainCharts(name)
	if len(e.Bundles)+len(e.Releases)+len(e.Charts) > 0 {
		return e
	}
	for _, img := range p.Images {
		places := []string{img.Repository}
		for _, tag := range img.Tags {
			places = append(places, img.Repository+":"+tag)
		}
		if called(img.Source, name) || string(img.Digest) == name || name != "" && string(img.RewrittenFrom) == name || slices.Contains(places, name) || isComponent(img, name) || name != "" && p.fileName(&img) == name {
			x := ExplainedImage{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags, Size: img.Size, Subject: img.Subject, Of: p.sourceOfSubject(&img), ArtifactType: img.ArtifactType, PredicateType: img.PredicateType, Signers: img.Signers, Signatures: len(img.Signatures)}
			x.File, x.RewrittenFrom, x.NotRewritten = p.fileName(&img), img.RewrittenFrom, img.NotRewritten
			if x.NamedBy = img.NamedBy; img.RewrittenFrom != "" {
				x.Format = p.Format
			}
			e.Images = append(e.Images, p.explainImage(x, img.Reasons))
		}
	}
	for _, m := range p.Missing {
		if called(m.Source, name) || isComponent(Image{Kind: m.Kind, Reasons: m.Reasons}, name) {
			e.Images = append(e.Images, p.explainImage(ExplainedImage{Source: m.Source, Missing: m.Message}, m.Reasons))
		}
	}
	for _, b := range p.Blocked {
		if called(b.Source, name) {
			e.Images = append(e.Images, p.explainImage(ExplainedImage{Source: b.Source, Blocked: b.Pattern}, b.Reasons))
		}
	}
	return e
}

// isComponent reports whether an image is a component of a release with a name. Signatures of the
// image do not count.
func isComponent(img Image, name string) bool {
	return name != "" && (img.Kind == ComponentImage || img.Kind == BootImage) &&
		slices.ContainsFunc(img.Reasons, func(b Reason) bool { return b.Release != "" && b.Name == name })
}

// called reports whether a name is a source, or a part of it between slashes, colons and @.
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

// bundlesOf returns the names of a package's bundles, each once, in the order of its channels.
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

func (p *Plan) explainImage(x ExplainedImage, because []Reason) ExplainedImage {
	for _, b := range because {
		if b.List != "" {
			if !slices.Contains(x.Lists, b.List) {
				x.Lists = append(x.Lists, b.List)
			}
			if b.Rule != "" {
				x.Rules = append(x.Rules, b.Rule)
			}
			continue
		}
		if b.Chart != "" {
			x.nameChart(b)
			continue
		}
		if b.Release != "" {
			i := slices.IndexFunc(x.Releases, func(r ExplainedRelease) bool { return r.Name == b.Release })
			if i < 0 {
				i = len(x.Releases)
				x.Releases = append(x.Releases, p.explainRelease(b.Release))
			}
			if b.Name != "" {
				x.Releases[i].ComponentNames = append(x.Releases[i].ComponentNames, b.Name)
			}
			continue
		}
		last := len(x.Bundles) - 1
		if last < 0 || x.Bundles[last].Catalog != b.Catalog || x.Bundles[last].Package != b.Package || x.Bundles[last].Name != b.Bundle {
			x.Bundles = append(x.Bundles, p.explainBundle(b))
			last++
		}
		if b.Name != "" {
			x.Bundles[last].ImageNames = append(x.Bundles[last].ImageNames, b.Name)
		}
	}
	return x
}

func (p *Plan) explainBundle(b Reason) ExplainedBundle {
	x := ExplainedBundle{Catalog: b.Catalog, Package: b.Package, Name: b.Bundle, Channels: []ChannelReason{}}
	for _, c := range p.Catalogs {
		if c.Name() != b.Catalog {
			continue
		}
		x.Features = c.featuresOf(b.Package, b.Bundle)
		for _, pkg := range c.Packages {
			if pkg.Name != b.Package {
				continue
			}
			for _, ch := range pkg.Channels {
				for _, kept := range ch.Bundles {
					if kept.Name == b.Bundle {
						x.Version = kept.Version
						x.Channels = append(x.Channels, ChannelReason{Channel: ch.Name, Reason: kept.Reason, For: kept.For})
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
		return x // the release was removed, but its images are in the plan
	}
	r := p.Releases[i]
	x.Reasons, x.Erratum = r.Reasons, r.URL
	for _, u := range p.Updates {
		if u.Product == r.Product && u.Arch == r.Arch && u.Passes(r.Version) {
			x.Updates = append(x.Updates, ExplainedPath{Channel: u.Channel, From: u.From, To: u.To})
		}
	}
	return x
}

// NeededBy names what needs an image: bundles, releases, charts and lists of the configuration, each once.
func NeededBy(because []Reason) (names []string) {
	for _, b := range because {
		name := b.Bundle
		switch {
		case b.Release != "":
			name = "release " + b.Release
		case b.Chart != "":
			name = "chart " + b.Chart
		case name == "":
			name = "mirror." + b.List
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
