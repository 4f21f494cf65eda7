package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A selection is the state of filtering one package.
type selection struct {
	pkg     *catalog.Package
	request imageset.Package
	full    bool
	// dependency is set if the package is not selected, but required by others.
	dependency bool
	required   []Required
	starts     []start // the installed operators of the package
	// versions are the readable versions by bundle.
	versions map[string]semver.Version

	drafts   []*draft      // sorted by name
	kept     []keptChannel // sorted by name
	notes    []note
	problems []Problem
}

// A note is a sentence for the summary. Notes on channels come first, by channel name.
type note struct{ channel, text string }

// A keptChannel is a channel with its kept entries.
type keptChannel struct {
	*catalog.Channel
	// entries are the kept ones with their reasons, in the original order; keep reports for each
	// original entry whether it is kept.
	entries            []Entry
	keep               []bool
	skips              map[int][]string // names to add to an entry's skips
	head, originalHead string
	dependency         bool // only required by others
}

func newSelection(p *catalog.Package, request imageset.Package, full bool) *selection {
	s := &selection{pkg: p, request: request, full: full, versions: map[string]semver.Version{}}
	for _, b := range p.Bundles {
		if _, again := s.versions[b.Name]; b.VersionErr == nil && !again {
			s.versions[b.Name] = b.Version
		}
	}
	return s
}

func (s *selection) problem(pos imageset.Position, parts ...string) {
	s.problems = append(s.problems, Problem{pos, sentence(parts...)})
}

func (s *selection) note(format string, args ...any) {
	s.notes = append(s.notes, note{text: fmt.Sprintf("package %q: ", s.pkg.Name) + fmt.Sprintf(format, args...)})
}

// noteOn adds a note on a channel. The text continues after the channel's name.
func (s *selection) noteOn(channel, format string, args ...any) {
	s.notes = append(s.notes, note{channel, fmt.Sprintf("package %q: channel %q", s.pkg.Name, channel) + fmt.Sprintf(format, args...)})
}

// sentences returns the notes in order.
func (s *selection) sentences() []string {
	elements.Sort(s.notes, func(a, b note) int {
		if (a.channel == "") != (b.channel == "") {
			return strings.Compare(b.channel, a.channel)
		}
		return strings.Compare(a.channel, b.channel)
	})
	return elements.Map(s.notes, func(n note) string { return n.text })
}

// sentence joins the non-empty parts with semicolons.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// dropChannel drops a channel without selected entries. It is an error if the configuration names
// the channel.
func (s *selection) dropChannel(ch requestedChannel, why string) {
	if ch.named != nil {
		s.problem(ch.named.Pos, fmt.Sprintf("package %q: channel %q %s", s.pkg.Name, ch.Name, why))
		return
	}
	s.noteOn(ch.Name, " is left out: it %s", why)
}

// pos returns the position of the channel, or else of the package, in the configuration.
func (s *selection) pos(ch requestedChannel) imageset.Position {
	if ch.named != nil {
		return ch.named.Pos
	}
	return s.request.Pos
}

// invalidChannel adds a problem: OLM does not accept the channel of the original catalog.
func (s *selection) invalidChannel(ch requestedChannel, heads []string) {
	why := "its update graph is broken"
	switch len(heads) {
	case 0:
		why = "it has no head"
	case 1:
	default:
		why = "it has more than one head: " + list(heads)
	}
	s.problem(s.pos(ch), fmt.Sprintf("package %q: channel %q is invalid in the catalog", s.pkg.Name, ch.Name),
		why, "select other channels or use a newer catalog")
}

// list returns "a, b, c", shortened after ten names.
func list(names []string) string {
	if len(names) > 10 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:10], ", "), len(names)-10)
	}
	return strings.Join(names, ", ")
}
