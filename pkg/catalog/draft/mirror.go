package draft

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Mirror is what a registry has, as far as it can be read without the state of the tool that filled
// it.
type Mirror struct {
	// Host is the registry.
	Host     string
	Catalogs []MirroredCatalog
	// Releases are the tags of payloads: "4.20.5-x86_64".
	Releases []string
	// Graph reports whether there is an image with update graph data.
	Graph bool
	// Others are repositories that are neither catalogs nor belong to releases, and that no catalog
	// names.
	Others []string
}

// A MirroredCatalog is a catalog of a mirror.
type MirroredCatalog struct {
	// Path is its repository without the mirror's prefix, Image its reference in the mirror.
	Path, Image string
	Packages    []*catalog.Package
}

// FromMirror makes the configuration for what a mirror has. Options.Catalogs names catalogs by their
// paths. The error is of kind advice.Input if the source of a catalog is unknown, and names all of them.
func FromMirror(m *Mirror, o Options) (*Draft, error) {
	d := newDrafter(&installed.Cluster{}, o)
	d.mirror = m.Host
	var unknown []string
	for _, c := range m.Catalogs {
		ref, why := d.sourceOf(installed.Catalog{Name: c.Path, Image: c.Image})
		if ref == "" {
			unknown = append(unknown, c.Path+": "+why)
			continue
		}
		entry := imageset.Operator{Catalog: ref}
		if source, err := reference.Parse(ref); err == nil && source.Path != c.Path {
			entry.TargetCatalog = c.Path
		}
		for _, p := range c.Packages {
			entry.Packages = append(entry.Packages, d.mirrored(p))
		}
		d.draft.Comments[fmt.Sprintf("mirror.operators[%d]", len(d.draft.Config.Mirror.Operators))] = "In the mirror: " + c.Image
		d.draft.Config.Mirror.Operators = append(d.draft.Config.Mirror.Operators, entry)
	}
	if len(unknown) > 0 {
		return nil, unknownSources(unknown)
	}
	d.releases(m.Releases, m.Graph)
	if len(m.Others) > 0 {
		d.note("not included, because neither a catalog nor a release names them and their sources are unknown: %s", strings.Join(m.Others, ", "))
	}
	if err := d.checkUsed("use the path of a catalog in the mirror"); err != nil {
		return nil, err
	}
	if d.isEmpty() {
		return nil, advice.New(advice.Input, "check the host and the prefix", "the mirror has neither catalogs nor platform releases")
	}
	return d.draft, nil
}

// mirrored selects the versions of a package that a mirror has, and what is newer at the source.
func (d *drafter) mirrored(p *catalog.Package) imageset.Package {
	out := imageset.Package{Name: p.Name, DefaultChannel: p.DefaultChannel}
	for _, c := range p.Channels {
		var r imageset.Range
		for _, e := range c.Entries {
			if b := p.Bundle(e.Name); b != nil && b.VersionErr == nil {
				r = Widen(r, b.Version.String())
			}
		}
		if !d.Pinned {
			r.Max = ""
		}
		out.Channels = append(out.Channels, imageset.Channel{Name: c.Name, Range: r})
	}
	return out
}

// releases selects the releases with these tags. A mirror does not say which channels they were
// selected from: the stable ones are assumed.
func (d *drafter) releases(tags []string, graph bool) {
	if len(tags) == 0 && !graph {
		return
	}
	p := &imageset.Releases{Graph: graph}
	ranges := map[string]imageset.Range{}
	var minors []string
	for _, tag := range tags {
		version, arch, ok := PayloadTag(tag)
		if !ok {
			continue
		}
		if !slices.Contains(p.Architectures, arch) {
			p.Architectures = append(p.Architectures, arch)
		}
		minor := release.Minor(version)
		if !slices.Contains(minors, minor) {
			minors = append(minors, minor)
		}
		ranges[minor] = Widen(ranges[minor], version)
	}
	elements.Sort(minors, func(a, b string) int { return compareVersions(ranges[a].Min, ranges[b].Min) })
	slices.Sort(p.Architectures)
	if slices.Equal(p.Architectures, []release.Arch{release.DefaultArch}) {
		p.Architectures = nil
	}
	for _, minor := range minors {
		r := ranges[minor]
		c := imageset.ReleaseChannel{Name: "stable-" + minor, Range: r, ShortestPath: r.Min != r.Max || !d.Pinned}
		if strings.Contains(r.Min, "okd") {
			c.Product = release.OKD
		}
		if !d.Pinned {
			c.Range.Max = ""
		}
		d.draft.Comments[fmt.Sprintf("mirror.platform.channels[%d]", len(p.Channels))] = fmt.Sprintf("In the mirror: %s to %s; the channel is assumed", r.Min, r.Max)
		p.Channels = append(p.Channels, c)
	}
	d.draft.Config.Mirror.Platform = p
}

// compareVersions compares semantic versions.
func compareVersions(a, b string) int {
	x, errX := semver.Parse(a)
	y, errY := semver.Parse(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}

// PayloadTag splits the tag of a payload, such as "4.20.5-x86_64".
func PayloadTag(tag string) (version string, arch release.Arch, ok bool) {
	for _, a := range release.Arches() {
		version, ok := strings.CutSuffix(tag, "-"+a.Suffix())
		if _, err := semver.Parse(version); ok && err == nil {
			return version, a, true
		}
	}
	return "", "", false
}
