package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A semverText is a semver template.
type semverText struct {
	Schema                       string       `json:"schema"`
	GenerateMajorChannels        bool         `json:"generateMajorChannels"`
	GenerateMinorChannels        bool         `json:"generateMinorChannels"`
	DefaultChannelTypePreference string       `json:"defaultChannelTypePreference"`
	Candidate                    semverImages `json:"candidate"`
	Fast                         semverImages `json:"fast"`
	Stable                       semverImages `json:"stable"`
}

type semverImages struct {
	Bundles []struct {
		Image string `json:"image"`
	} `json:"bundles"`
}

// The types of channels.
const (
	major = "major" // stable-v1
	minor = "minor" // stable-v1.2
)

// A maturity is a list of bundles in a semver template; its name begins those of its channels.
type maturity struct {
	name   string
	images semverImages
}

// maturities returns the lists, the least mature first.
func (t *semverText) maturities() []maturity {
	return []maturity{{"candidate", t.Candidate}, {"fast", t.Fast}, {"stable", t.Stable}}
}

// readSemver reads a semver template. Unknown members are errors, as in opm.
func readSemver(raw []byte) (*semverText, error) {
	t := &semverText{}
	if err := unmarshal(raw, t, true); err != nil {
		return nil, err
	}
	if !t.GenerateMajorChannels && !t.GenerateMinorChannels {
		t.GenerateMinorChannels = true
	}
	switch t.DefaultChannelTypePreference {
	case "":
		t.DefaultChannelTypePreference = major
		if t.GenerateMinorChannels {
			t.DefaultChannelTypePreference = minor
		}
	case minor:
		if !t.GenerateMinorChannels {
			return nil, errors.New("defaultChannelTypePreference is minor, but generateMinorChannels is not set")
		}
	case major:
		if !t.GenerateMajorChannels {
			return nil, errors.New("defaultChannelTypePreference is major, but generateMajorChannels is not set")
		}
	default:
		return nil, fmt.Errorf("defaultChannelTypePreference is %.200q; it must be major or minor", t.DefaultChannelTypePreference)
	}
	if len(t.images()) == 0 {
		return nil, errors.New("no bundles are listed in candidate, fast or stable")
	}
	for _, m := range t.maturities() {
		for i, b := range m.images.Bundles {
			if b.Image == "" {
				return nil, fmt.Errorf("%s.bundles[%d] has no image", m.name, i)
			}
		}
	}
	return t, nil
}

func (t *semverText) images() []string {
	var images []string
	for _, m := range t.maturities() {
		for _, b := range m.images.Bundles {
			images = append(images, b.Image)
		}
	}
	return images
}

// types returns the types of channels, in the order in which opm prefers them.
func (t *semverText) types() []string {
	var types []string
	if t.GenerateMajorChannels {
		types = append(types, major)
	}
	if t.GenerateMinorChannels {
		types = append(types, minor)
	}
	return types
}

// A release is a bundle of a semver template.
type release struct {
	name    string
	version semver.Version
}

// catalog returns the objects of the catalog: the package, its channels, and the rendered bundles.
func (t *semverText) catalog(bundles map[string]*catalog.Meta) ([]*catalog.Meta, error) {
	releases, pkg, err := t.releases(bundles)
	if err != nil {
		return nil, err
	}
	channels, preferred := t.channels(releases)
	head := ""
	for _, c := range channels {
		if c.Name == preferred {
			head = c.Entries[len(c.Entries)-1].Name
		}
	}
	var metas []*catalog.Meta
	text := packageText{Schema: catalog.SchemaPackage, Name: pkg, DefaultChannel: preferred}
	names := map[string]string{} // image by bundle
	for _, image := range slices.Sorted(maps.Keys(bundles)) {
		m := bundles[image]
		if other, ok := names[m.Name]; ok {
			return nil, fmt.Errorf("the images %s and %s have the same bundle %s; list one of them", other, image, m.Name)
		}
		names[m.Name] = image
		if m.Name == head {
			text.Icon, text.Description = presentation(m)
		}
		metas = append(metas, m)
	}
	first, err := encode(text, &catalog.Meta{Schema: catalog.SchemaPackage, Package: pkg, Name: pkg})
	if err != nil {
		return nil, err
	}
	metas = append(metas, first)
	for _, c := range channels {
		c.Schema, c.Package = catalog.SchemaChannel, pkg
		m, err := encode(c, &catalog.Meta{Schema: catalog.SchemaChannel, Package: pkg, Name: c.Name})
		if err != nil {
			return nil, err
		}
		metas = append(metas, m)
	}
	return metas, nil
}

// releases returns the bundles of each maturity, sorted by version, and their package.
func (t *semverText) releases(bundles map[string]*catalog.Meta) (releases map[string][]release, pkg string, err error) {
	releases = map[string][]release{}
	for _, m := range t.maturities() {
		names, versions := map[string]bool{}, map[string]string{}
		for _, listed := range m.images.Bundles {
			b, err := bundleOf(bundles[listed.Image])
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", listed.Image, err)
			}
			plain := b.Version
			plain.Build = nil
			switch other, twice := versions[plain.String()]; {
			case pkg != "" && b.Package != pkg:
				return nil, "", fmt.Errorf("%s: bundle %s belongs to package %s; the bundles before it belong to %s, and a semver template is for one package",
					listed.Image, b.Name, b.Package, pkg)
			case names[b.Name]:
				return nil, "", fmt.Errorf("%s: %s lists bundle %s twice", listed.Image, m.name, b.Name)
			case twice:
				return nil, "", fmt.Errorf("%s: %s has bundles %s and %s with version %s; versions that differ only after + have no order",
					listed.Image, m.name, other, b.Name, plain)
			}
			pkg, names[b.Name], versions[plain.String()] = b.Package, true, b.Name
			releases[m.name] = append(releases[m.name], release{b.Name, b.Version})
		}
		elements.Sort(releases[m.name], func(a, b release) int { return a.version.Compare(b.version) })
	}
	return releases, pkg, nil
}

// bundleOf decodes a rendered bundle.
func bundleOf(m *catalog.Meta) (*catalog.Bundle, error) {
	c, err := catalog.New([]*catalog.Meta{m})
	if err != nil {
		return nil, err
	}
	b := c.Packages[0].Bundles[0]
	return b, b.VersionErr
}

// A channel is an olm.channel.
type channel struct {
	Schema  string  `json:"schema"`
	Name    string  `json:"name"`
	Package string  `json:"package"`
	Entries []entry `json:"entries"`
}

type entry struct {
	Name     string   `json:"name"`
	Replaces string   `json:"replaces,omitempty"`
	Skips    []string `json:"skips,omitempty"`
}

// channels returns the channels, and the name of the default one.
//
// The last bundle of each minor version has the update edges. It replaces the last bundle of the
// minor version before, which may be in another channel, and skips all other bundles of the same
// maturity and major version that are older. No edge crosses maturities or major versions.
func (t *semverText) channels(releases map[string][]release) (channels []channel, preferred string) {
	var best candidate
	at := map[string]int{} // index of a channel
	for _, m := range t.maturities() {
		edges := link(releases[m.name])
		for i, r := range releases[m.name] {
			for _, kind := range t.types() {
				name := fmt.Sprintf("%s-v%d", m.name, r.version.Major)
				if kind == minor {
					name = fmt.Sprintf("%s.%d", name, r.version.Minor)
				}
				if _, ok := at[name]; !ok {
					at[name] = len(channels)
					channels = append(channels, channel{Name: name})
					if next := (candidate{m.name, kind, r.version, name}); next.better(best, t.DefaultChannelTypePreference) {
						best = next
					}
				}
				c := &channels[at[name]]
				c.Entries = append(c.Entries, edges[i])
			}
		}
	}
	return channels, best.name
}

// link returns the channel entries of bundles of one maturity, which are sorted.
func link(releases []release) []entry {
	entries := make([]entry, len(releases))
	first := 0     // of the major version
	replaced := "" // the last bundle of the minor version before
	for i, r := range releases {
		entries[i].Name = r.name
		if i > 0 && releases[i-1].version.Major != r.version.Major {
			first, replaced = i, ""
		}
		if i+1 < len(releases) && sameMinor(r.version, releases[i+1].version) {
			continue
		}
		entries[i].Replaces = replaced
		for _, older := range releases[first:i] {
			if older.name != replaced {
				entries[i].Skips = append(entries[i].Skips, older.name)
			}
		}
		slices.Sort(entries[i].Skips)
		replaced = r.name
	}
	return entries
}

func sameMinor(a, b semver.Version) bool { return a.Major == b.Major && a.Minor == b.Minor }

// A candidate is a channel that may become the default, with the version of its first bundle.
type candidate struct {
	maturity, kind string
	version        semver.Version
	name           string
}

// better reports whether a channel is preferred to the best one so far. Channels come from the least
// mature to the most, and major before minor: the most mature wins, then the highest version, then the
// preferred type.
func (c candidate) better(best candidate, preferred string) bool {
	switch {
	case best.name == "" || c.maturity != best.maturity:
		return true
	case !c.version.EQ(best.version):
		return c.version.GT(best.version)
	}
	return c.kind == preferred
}

// encode writes an object. Characters that HTML escapes are kept.
func encode(v any, m *catalog.Meta) (*catalog.Meta, error) {
	raw, err := catalog.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", m.Schema, m.Name, err)
	}
	m.Raw = json.RawMessage(raw)
	return m, nil
}
