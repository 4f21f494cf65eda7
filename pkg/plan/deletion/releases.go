package deletion

import (
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// releases returns the names of the releases that are selected: false if other channels have them, too.
func (s *Selector) releases(p *plan.Plan) map[string]bool {
	all := map[string]bool{}
	platform := s.delete.Platform
	if platform == nil {
		return all
	}
	if platform.Release != "" {
		found := false
		for i := range p.Releases {
			if r := &p.Releases[i]; isPayload(r, platform.Release) {
				all[r.Name()], found = true, true
			}
		}
		s.found("the release "+platform.Release, platform.Pos, found)
		return all
	}
	named := make([]bool, len(platform.Channels))
	for i := range p.Releases {
		r := &p.Releases[i]
		if !slices.Contains(platform.Arches(), r.Arch) {
			continue
		}
		every, some := len(r.Reasons) > 0, false
		for _, why := range r.Reasons {
			selected := false
			for j := range platform.Channels {
				if c := &platform.Channels[j]; c.Name == why.Channel && c.Product == r.Product && within(c.Range, r.Version) {
					selected, named[j] = true, true
				}
			}
			every, some = every && selected, some || selected
		}
		if some {
			all[r.Name()] = every
		}
	}
	for j := range platform.Channels {
		c := &platform.Channels[j]
		s.found("releases of these versions from the channel "+c.Name, c.Pos, named[j])
	}
	return all
}

// isPayload reports whether a reference names the payload of a release, by digest or by the tag that is the
// release's name.
func isPayload(r *plan.Release, name string) bool {
	ref, err := reference.Parse(name)
	if err != nil {
		return false
	}
	source, err := reference.Parse(r.Source)
	if err != nil || source.Name() != ref.Name() {
		return false
	}
	return ref.Digest == r.Digest || ref.Digest == "" && ref.Tag == r.Tag
}

// charts returns the texts of the charts that are selected.
func (s *Selector) charts(p *plan.Plan) map[string]bool {
	all := map[string]bool{}
	helm := s.delete.Helm
	if helm == nil {
		return all
	}
	choose := func(text string, pos imageset.Position, is func(*plan.Chart) bool) {
		found := false
		for i := range p.Charts {
			if c := &p.Charts[i]; is(c) {
				all[c.String()], found = true, true
			}
		}
		s.found(text, pos, found)
	}
	for i := range helm.Repositories {
		repo := &helm.Repositories[i]
		origin := strings.TrimRight(redact.Address(repo.URL), "/") // as in plans
		from := func(c *plan.Chart) bool { return strings.TrimRight(c.Origin, "/") == origin }
		if len(repo.Charts) == 0 {
			choose("charts of "+origin, repo.Pos, from)
		}
		for j := range repo.Charts {
			want := &repo.Charts[j]
			choose("the chart "+want.Name+" of "+origin, want.Pos, func(c *plan.Chart) bool {
				name := want.Name
				if strings.HasPrefix(origin, "oci://") {
					name = path.Base(name) // the rest is a part of the repository
				}
				return from(c) && c.Name == name && isVersion(c.Version, want.Version) && isVersion(c.Version, want.Versions)
			})
		}
	}
	for i := range helm.Local {
		want := &helm.Local[i]
		choose("the chart "+want.Path, want.Pos, func(c *plan.Chart) bool { return c.Origin == want.Path })
	}
	return all
}

// isVersion reports whether a version is the wanted one, or in that range; "" is every version.
func isVersion(version, want string) bool {
	if want == "" || version == want {
		return true
	}
	v, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	c, err := semver.NewConstraint(want)
	return err == nil && c.Check(v)
}
