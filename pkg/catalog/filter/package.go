package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// defaultChannel sets s.request.DefaultChannel to the default channel of the result.
func (s *selection) defaultChannel() {
	var kept []string
	var selected []string
	for _, k := range s.kept {
		if kept = append(kept, k.Name); !k.dependency {
			selected = append(selected, k.Name)
		}
	}
	was, override := s.pkg.DefaultChannel, s.request.DefaultChannel
	switch {
	case override != "" && s.pkg.Channel(override) == nil:
		s.problem(s.request.Pos, fmt.Sprintf("package %q has no channel %q for its defaultChannel", s.pkg.Name, override), suggest.Phrase(override, kept))
	case override != "" && !slices.Contains(kept, override):
		s.problem(s.request.Pos, fmt.Sprintf("package %q: its defaultChannel %q is not among the channels that are kept", s.pkg.Name, override), "choose "+choice(kept))
	case override != "" && override != was:
		s.note("the default channel is %q instead of %q, as configured", override, was)
	case override != "" || slices.Contains(kept, was):
		s.request.DefaultChannel = was
	case len(selected) == 1:
		s.request.DefaultChannel = selected[0]
		s.note("its default channel %q is not kept; %q, the only channel left, is the default now", was, selected[0])
	case len(selected) == 0:
		s.request.DefaultChannel = s.required[0].Channel
		s.note("its default channel %q is not kept; %q, which %s needs, is the default now", was, s.required[0].Channel, s.required[0].For)
	default:
		s.problem(s.request.Pos, fmt.Sprintf("package %q: its default channel %q is not kept", s.pkg.Name, was), "set defaultChannel to "+choice(kept))
	}
}

// build returns the package with what is kept.
func (s *selection) build() (*catalog.Package, error) {
	p := &catalog.Package{Name: s.pkg.Name, DefaultChannel: s.request.DefaultChannel, Others: s.pkg.Others}
	for i, m := range s.pkg.Metas {
		if i == 0 && s.request.DefaultChannel != s.pkg.DefaultChannel && m.Raw != nil { // an outline has no text
			var err error
			if m, err = m.With("defaultChannel", s.request.DefaultChannel); err != nil {
				return nil, err
			}
		}
		p.Metas = append(p.Metas, m)
	}
	targets := map[[2]string]bool{{catalog.SchemaPackage, ""}: true}
	for _, k := range s.kept {
		ch, err := k.rewritten()
		if err != nil {
			return nil, fmt.Errorf("cutting channel %s: %w", k.Name, err)
		}
		p.Channels = append(p.Channels, ch)
		targets[[2]string{catalog.SchemaChannel, k.Name}] = true
		for _, e := range k.entries {
			targets[[2]string{catalog.SchemaBundle, e.Name}] = true
		}
	}
	for _, b := range s.pkg.Bundles {
		if targets[[2]string{catalog.SchemaBundle, b.Name}] {
			p.Bundles = append(p.Bundles, b)
		}
	}
	for _, d := range s.pkg.Deprecations {
		d, err := deprecations(d, targets)
		if err != nil {
			return nil, fmt.Errorf("filtering deprecations: %w", err)
		}
		if d != nil {
			p.Deprecations = append(p.Deprecations, d)
		}
	}
	return p, nil
}

// report returns the summary of what is kept.
func (s *selection) report(bundles []*catalog.Bundle, defaultChannel string) Package {
	noteExtras := Package{Name: s.pkg.Name, DefaultChannel: defaultChannel}
	if defaultChannel != s.pkg.DefaultChannel {
		noteExtras.ReplacedDefault = s.pkg.DefaultChannel
	}
	strongest := map[string]Entry{}
	for _, k := range s.kept {
		noteExtras.Channels = append(noteExtras.Channels, Channel{Name: k.Name, Head: k.head, OriginalHead: k.originalHead, Entries: k.entries})
		for _, e := range k.entries {
			if had, ok := strongest[e.Name]; !ok || e.Reason.order() < had.Reason.order() {
				strongest[e.Name] = e
			}
		}
	}
	for _, b := range bundles {
		e := strongest[b.Name]
		version := ""
		if b.VersionErr == nil {
			version = b.Version.String()
		}
		noteExtras.Bundles = append(noteExtras.Bundles, Bundle{Name: b.Name, Version: version, Reason: e.Reason, For: e.For})
	}
	return noteExtras
}

func channelNames(channels []*catalog.Channel) []string {
	return elements.Map(channels, func(ch *catalog.Channel) string { return ch.Name })
}

// choice returns "one of a, b", or "a" for a single name.
func choice(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}
