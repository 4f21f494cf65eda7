package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A start is an operator that runs in a cluster, from which updates start.
type start struct {
	imageset.Installed
	at        graph.At
	versioned bool // whether its version is known
	label     string
}

// follows reports whether the cluster may receive updates from the channel.
func (f start) follows(channel string) bool { return f.Channel == "" || f.Channel == channel }

// installed reads the installed operators of the package. A version is resolved to the bundles of
// the catalog that have it, preferably those with the same build metadata. If no bundle has it, the
// version alone is used.
func (s *selection) installed(all []imageset.Installed) {
	for _, in := range all {
		if in.Package != s.pkg.Name {
			continue
		}
		from := start{Installed: in, label: in.Bundle, at: graph.At{Name: in.Bundle}}
		if in.Bundle == "" {
			from.label = in.Version
		}
		if v, err := semver.Parse(in.Version); err == nil {
			from.at.Version, from.versioned = v, true
		} else if in.Version != "" {
			s.problem(in.Pos, fmt.Sprintf("package %q: reading the installed version %q: %v", s.pkg.Name, in.Version, err))
			continue
		}
		if !s.known(in) {
			continue
		}
		if in.Bundle == "" {
			s.starts = append(s.starts, s.ofVersion(from)...)
			continue
		}
		if b := s.pkg.Bundle(in.Bundle); b != nil && b.VersionErr == nil {
			if from.at.Release = b.Release; !from.versioned {
				from.at.Version, from.versioned = b.Version, true
			}
		} else if !from.versioned {
			from.at.Version, from.versioned = versionIn(in.Bundle)
		}
		s.starts = append(s.starts, from)
	}
}

// ofVersion returns the bundles of the installed version, or the version alone.
func (s *selection) ofVersion(from start) []start {
	bundles := graph.OfVersion(s.pkg, from.at.Version)
	if len(bundles) == 0 {
		return []start{from}
	}
	var all []start
	for _, b := range bundles {
		one := from
		one.at, one.label = graph.Running(b), b.Name
		all = append(all, one)
	}
	return all
}

// versionIn returns the version at the end of a bundle's name, as in foo.v1.2.3.
func versionIn(bundle string) (semver.Version, bool) {
	for rest := bundle; rest != ""; {
		_, after, _ := strings.Cut(rest, "v")
		if v, err := semver.Parse(after); err == nil {
			return v, true
		}
		rest = after
	}
	return semver.Version{}, false
}

// known reports whether the names are plausible, and adds a problem for a plainly misspelled one. A
// bundle, version or channel that is no longer in the catalog is no problem.
func (s *selection) known(in imageset.Installed) bool {
	if in.Channel != "" && s.pkg.Channel(in.Channel) == nil {
		if name := misspelled(in.Channel, channelNames(s.pkg.Channels)); name != "" {
			s.problem(in.Pos, fmt.Sprintf("package %q has no channel %q, which the installed operator follows", s.pkg.Name, in.Channel), fmt.Sprintf("did you mean %q?", name))
			return false
		}
	}
	if in.Bundle != "" && s.pkg.Bundle(in.Bundle) == nil {
		var names []string
		for _, b := range s.pkg.Bundles {
			names = append(names, b.Name)
		}
		if name := misspelled(in.Bundle, names); name != "" {
			s.problem(in.Pos, fmt.Sprintf("package %q has no installed bundle %q", s.pkg.Name, in.Bundle), fmt.Sprintf("did you mean %q?", name))
			return false
		}
	}
	return true
}

// misspelled returns the name that was plainly meant: its digits are the same, and one letter is
// missing, extra, different, or swapped with the next.
func misspelled(word string, names []string) string {
	digits := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, s)
	}
	for _, name := range suggest.Nearest(word, names) {
		if digits(name) == digits(word) && slip(word, name) {
			return name
		}
	}
	return ""
}

// slip reports whether one typing error turns one word into the other.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	same := 0
	for same < len(a) && a[same] == b[same] {
		same++
	}
	a, b = a[same:], b[same:]
	switch len(b) - len(a) {
	case 0:
		return len(a) > 0 && (a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:])
	case 1:
		return a == b[1:]
	}
	return false
}

// hasInstalled reports whether an installed operator follows the channel.
func (s *selection) hasInstalled(w *draft) bool {
	return slices.ContainsFunc(s.starts, func(from start) bool { return from.follows(w.Name) })
}

// keepInstalled adds the installed bundles to the requested entries of their channels: clusters
// pull their images from the mirror, and an extension may be pinned to one.
func (s *selection) keepInstalled() {
	for _, w := range s.drafts {
		for i, e := range w.Entries {
			for _, from := range s.starts {
				if w.requested[i].Reason == "" && from.at.Name == e.Name && from.follows(w.Name) {
					w.requested[i].Reason, w.requested[i].For = Installed, from.label
				}
			}
		}
	}
}
