package mirroring

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// A RunSummary is what a run did, for a ticket or a report.
type RunSummary struct {
	state.Run
	// Result is nil if the run ended before it copied.
	Result *Result
	// Err is why the run was not complete.
	Err     error
	Retries int64
	// Warnings are those of the run, each once.
	Warnings []string
	// Compared means that the workspace had an earlier plan of the image set. Versions and releases are
	// changes since that plan.
	Compared                       bool
	Versions                       []VersionChange
	AddedReleases, RemovedReleases []string
	// Errata are the addresses of errata, by the names of releases.
	Errata map[string]string
}

// A VersionChange is which versions of a package a plan has that an earlier one has not, and the other
// way round.
type VersionChange struct {
	Catalog, Package string
	Added, Removed   []string
}

// earlierPlan returns the plan that the workspace has of the image set of options, or nil.
func earlierPlan(o *Options) *plan.Plan {
	name := o.Name
	switch {
	case name != "":
	case o.Config != "":
		name = selection.PlanName("", o.Config)
	default:
		if p := signing.KnownPlan(o.Plan); p != nil {
			name = p.Name
		}
	}
	if name == "" {
		return nil
	}
	return signing.KnownPlan(filepath.Join(o.workspace(), "plans", name+".json"))
}

// compare sets what changed since an earlier plan.
func (r *RunSummary) compare(before, after *plan.Plan) {
	if before == nil || after == nil {
		return
	}
	r.Compared = true
	r.Errata = map[string]string{}
	for _, e := range planning.ReleaseErrata(after) {
		r.Errata[e.Release] = e.URL
	}
	had, has := versionsOf(before), versionsOf(after)
	keys := slices.Collect(maps.Keys(had))
	for key := range has {
		if had[key] == nil {
			keys = append(keys, key)
		}
	}
	elements.Sort(keys, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, key := range keys {
		c := VersionChange{Catalog: key[0], Package: key[1], Added: without(has[key], had[key]), Removed: without(had[key], has[key])}
		if len(c.Added)+len(c.Removed) > 0 {
			r.Versions = append(r.Versions, c)
		}
	}
	old, now := releasesOf(before), releasesOf(after)
	r.AddedReleases, r.RemovedReleases = without(now, old), without(old, now)
}

// versionsOf returns the versions by catalog and package, in the order of the plan.
func versionsOf(p *plan.Plan) map[[2]string][]string {
	all := map[[2]string][]string{}
	for _, c := range p.Catalogs {
		for _, pkg := range c.Packages {
			key := [2]string{c.Source, pkg.Name}
			for _, channel := range pkg.Channels {
				for _, b := range channel.Bundles {
					if version := cmp.Or(b.Version, b.Name); !slices.Contains(all[key], version) {
						all[key] = append(all[key], version)
					}
				}
			}
		}
	}
	return all
}

func releasesOf(p *plan.Plan) (names []string) {
	return elements.Map(p.Releases, func(r plan.Release) string { return string(r.Product) + " " + r.Version + " " + string(r.Arch) })
}

// without returns the elements of all that others does not have.
func without(all, others []string) (rest []string) {
	return elements.Filter(all, func(s string) bool { return !slices.Contains(others, s) })
}

// collectWarnings also collects the warnings of an Env until stop is called, which returns them.
func collectWarnings(e *env.Env) (stop func() []string) {
	var mu sync.Mutex
	var texts []string
	warn := e.Warn
	e.Warn = func(text string) {
		mu.Lock()
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		mu.Unlock()
		if warn != nil {
			warn(text)
		}
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		e.Warn = warn
		return texts
	}
}
