package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// A start is an operator that a cluster runs, and where updates start from.
type start struct {
	imageset.Installed
	at        graph.At
	versioned bool // whether its version is known
	label     string
}

// follows reports whether the cluster may get updates from the channel.
func (f start) follows(channel string) bool { return f.Channel == "" || f.Channel == channel }

// installed reads what is installed of the package. A version stands for the
// bundles of the catalog that have it, with the same build metadata if one does;
// if none has it, for itself.
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

// ofVersion are the bundles of the version that is installed, or it alone.
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

// versionIn is the version that the name of a bundle ends with, as names mostly
// do: foo.v1.2.3.
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

// known reports names that were plainly misspelt. A bundle, a version or a
// channel that the catalog does not have any more is none.
func (s *selection) known(in imageset.Installed) bool {
	if in.Channel != "" && s.pkg.Channel(in.Channel) == nil {
		if name := misspelt(in.Channel, channelNames(s.pkg.Channels)); name != "" {
			s.problem(in.Pos, fmt.Sprintf("package %q has no channel %q to be followed", s.pkg.Name, in.Channel), fmt.Sprintf("did you mean %q?", name))
			return false
		}
	}
	if in.Bundle != "" && s.pkg.Bundle(in.Bundle) == nil {
		var names []string
		for _, b := range s.pkg.Bundles {
			names = append(names, b.Name)
		}
		if name := misspelt(in.Bundle, names); name != "" {
			s.problem(in.Pos, fmt.Sprintf("package %q has no bundle %q to be installed", s.pkg.Name, in.Bundle), fmt.Sprintf("did you mean %q?", name))
			return false
		}
	}
	return true
}

// misspelt is the name that was plainly meant: its digits are the same, and one
// letter is missing, too many, another one, or changed places with the next.
func misspelt(word string, names []string) string {
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

// slip reports whether one slip of the hand makes one word of the other.
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

// starting reports whether something installed follows the channel.
func (s *selection) starting(w *work) bool {
	return slices.ContainsFunc(s.starts, func(from start) bool { return from.follows(w.Name) })
}

// keepInstalled adds the installed bundles to what is asked for, where channels
// have them: their pods are pulled from the mirror, and an extension may be pinned to one.
func (s *selection) keepInstalled() {
	for _, w := range s.works {
		for i, e := range w.Entries {
			for _, from := range s.starts {
				if w.asked[i].Reason == "" && from.at.Name == e.Name && from.follows(w.Name) {
					w.asked[i].Reason, w.asked[i].For = Installed, from.label
				}
			}
		}
	}
}
