package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// declaredFeatures returns the features that the heads of the default channels declare, sorted by
// package. A head that cannot be read is reported elsewhere (notesOnOLMv1).
func declaredFeatures(c *catalog.Catalog) []plan.DeclaredFeatures {
	var all []plan.DeclaredFeatures
	for _, p := range c.Packages {
		ch := p.Channel(p.DefaultChannel)
		if ch == nil {
			continue
		}
		heads := graph.Inspect(ch.Entries).Heads
		if len(heads) == 0 || p.Bundle(heads[0]) == nil {
			continue
		}
		f, err := excerpt.DeclaredFeatures(p.Bundle(heads[0]))
		if err == nil && len(f.Supported)+len(f.Unsupported) > 0 {
			all = append(all, plan.DeclaredFeatures{Package: p.Name, Bundle: heads[0], Supported: f.Supported, Unsupported: f.Unsupported})
		}
	}
	elements.Sort(all, func(a, b plan.DeclaredFeatures) int { return cmp.Compare(a.Package, b.Package) })
	return all
}

// notesOnFeatures returns a note on the packages of a catalog that declare that they do not run without access to the internet.
func notesOnFeatures(name string, all []plan.DeclaredFeatures) []string {
	var connected []string
	for _, f := range all {
		if slices.Contains(f.Unsupported, excerpt.Disconnected) {
			connected = append(connected, fmt.Sprintf("%s (%s)", f.Package, f.Bundle))
		}
	}
	if len(connected) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s that %s not support disconnected clusters: %s", name,
		count(len(connected), "package declares", "packages declare"), does(len(connected)), strings.Join(connected, ", "))}
}

func does(n int) string {
	if n == 1 {
		return "it does"
	}
	return "they do"
}
