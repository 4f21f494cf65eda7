package admission

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// What a run does if a catalog replaces one from which clusters may have installed operators that have no upgrade
// path in the new catalog.
const (
	// OnStrandKnown, the default, lists them, and is OnStrandRefuse if clusters are known to run one of them.
	OnStrandKnown = "known"
	// OnStrandWarn lists them and continues.
	OnStrandWarn = "warn"
	// OnStrandRefuse ends the run before anything is published.
	OnStrandRefuse = "refuse"
)

// Replacing says which catalogs and archives a run may replace by others.
type Replacing struct {
	// OnStrand is what to do when clusters may have installed operators that have no upgrade path in a catalog
	// that replaces another one: OnStrandKnown, which is the default, OnStrandWarn or OnStrandRefuse. What is known
	// is what Installed says of clusters, or else what an earlier run recorded of it.
	OnStrand string
	// AllowOlder replaces a catalog by an older one, and newer archives by an older one. The default refuses that.
	AllowOlder bool
}

// OnStrands returns the values of Replacing.OnStrand.
func OnStrands() []string { return []string{OnStrandKnown, OnStrandWarn, OnStrandRefuse} }

// CheckOnStrand returns an error if the value of OnStrand is unknown.
func CheckOnStrand(value string) error {
	if value != "" && !slices.Contains(OnStrands(), value) {
		return env.InputHint("give "+strings.Join(OnStrands(), ", "), "Options.OnStrand %q", value)
	}
	return nil
}

// A ReplacedCatalog is a catalog that replaces another one at the destination, and what clusters lose
// by that.
type ReplacedCatalog struct {
	// Catalog is the name of the new one in the plan.
	Catalog string `json:"catalog"`
	// At is where the other one is: HOST/PATH:TAG in a registry, or "sequence 3" for an archive.
	At string `json:"at"`
	// Before and After are the digests of the images.
	Before digest.Digest `json:"before"`
	After  digest.Digest `json:"after"`
	upgrade.Replacement
	// Installed are the stranded bundles that clusters run, as far as a run of the image set knows.
	Installed []string `json:"installed,omitempty"`
	// OlderSource is set if the source of the new catalog is older than the source of the other one.
	OlderSource *OlderSource `json:"olderSource,omitempty"`
	// Problem is why the catalogs could not be compared, or "".
	Problem string `json:"problem,omitempty"`
}

// An OlderSource has the times when the images of two catalogs were created.
type OlderSource struct {
	Before time.Time `json:"before"`
	After  time.Time `json:"after"`
}

// IsOlder reports whether the new catalog is older than the other one.
func (r *ReplacedCatalog) IsOlder() bool { return len(r.Older) > 0 || r.OlderSource != nil }

// olderReason is a sentence that says why the new catalog is older.
func (r *ReplacedCatalog) olderReason() string {
	if s := r.OlderSource; s != nil {
		return s.String()
	}
	text := r.Older[0].String()
	if more := len(r.Older) - 1; more > 0 {
		text += " (and " + env.Number(more, "more channel", "more channels") + ")"
	}
	return text
}

// String returns the times as a sentence.
func (s OlderSource) String() string {
	return fmt.Sprintf("the source of the catalog was created on %s, before the one of the published catalog on %s", s.After.Format(time.DateOnly), s.Before.Format(time.DateOnly))
}

// A ReplacedReader compares the catalogs of a run with those at the destination.
type ReplacedReader struct {
	Session *workspace.Session
	To      site.Destination
	// Images reads the catalogs of the plan.
	Images image.Reader
	// Originals reports whether the sources of the plan are available: they are not at a site.
	Originals bool
	// Running are the operators that clusters run, as far as that is known.
	Running []installed.Operator
}

// Compare returns the catalogs of a plan that replace others, in the order of the plan. Catalogs that are not
// published, because they name missing images, replace nothing.
func (r *ReplacedReader) Compare(ctx context.Context, p *plan.Plan) ([]ReplacedCatalog, error) {
	withheld := site.NamesMissing(p)
	var all []ReplacedCatalog
	for _, c := range p.Catalogs {
		if slices.ContainsFunc(withheld, func(w plan.Publishable) bool { return w.Catalog == c.Name() }) {
			continue
		}
		replaced, err := r.one(ctx, p, c)
		if err != nil {
			return nil, err
		}
		if replaced != nil {
			all = append(all, *replaced)
		}
	}
	return all, nil
}

// one compares a catalog. It returns nil if the destination has none under its name, or the same.
func (r *ReplacedReader) one(ctx context.Context, p *plan.Plan, c plan.Catalog) (*ReplacedCatalog, error) {
	before, err := r.published(ctx, p, c)
	if err != nil {
		return nil, err
	}
	if before == nil || before.digest == "" || before.digest == c.Digest {
		if before != nil && before.keep {
			r.keepGraph(ctx, c)
		}
		return nil, nil
	}
	replaced := &ReplacedCatalog{Catalog: c.Name(), At: before.at, Before: before.digest, After: c.Digest}
	was, err := graphOf(ctx, r.Session, before.images)
	if err == nil {
		err = r.compareWith(ctx, c, was, before, replaced)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		replaced.Problem = env.ErrorText(err)
		if before.keep {
			r.keepGraph(ctx, c)
		}
	}
	return replaced, nil
}

// losses returns how many of the catalogs strand bundles, and the first of them.
func losses(all []ReplacedCatalog) (n int, first *ReplacedCatalog) {
	for i := range all {
		if len(all[i].Stranded) > 0 || all[i].Problem != "" {
			if n++; first == nil {
				first = &all[i]
			}
		}
	}
	return n, first
}

// maxReplacedWarnings is the number of warnings about one catalog.
const maxReplacedWarnings = 20

// WarnReplaced warns about what clusters lose.
func WarnReplaced(e *env.Env, all []ReplacedCatalog) {
	for _, r := range all {
		var texts []string
		if r.Problem != "" {
			texts = append(texts, "it was not compared with the new one: "+r.Problem)
		}
		for _, s := range r.Stranded {
			text := s.String()
			for _, f := range s.Fixes {
				text += "; to fix it: " + f.Message
			}
			texts = append(texts, text)
		}
		if r.OlderSource != nil {
			texts = append(texts, r.OlderSource.String())
		}
		for _, o := range r.Older {
			texts = append(texts, o.String())
		}
		for i, text := range texts {
			if i == maxReplacedWarnings {
				e.Warnf("catalog %s at %s is replaced: %d more problems", r.Catalog, r.At, len(texts)-i)
				break
			}
			e.Warnf("catalog %s at %s is replaced: %s", r.Catalog, r.At, text)
		}
	}
}

// A ReplacedError refuses a run because of the catalogs that it would replace.
type ReplacedError struct {
	Replaced []ReplacedCatalog
	err      error
}

// Error implements error.
func (e *ReplacedError) Error() string { return e.err.Error() }

// Unwrap returns the error with its kind and hint.
func (e *ReplacedError) Unwrap() error { return e.err }

// RefuseStranded returns a *ReplacedError if catalogs strand bundles and the run must not continue.
func RefuseStranded(all []ReplacedCatalog, onStrand string) error {
	n, first := losses(all)
	if onStrand != OnStrandRefuse || n == 0 {
		return nil
	}
	var err error
	switch {
	case len(first.Stranded) == 0:
		err = advice.New(advice.Mismatch, "make the published catalog readable, or set Options.OnStrand to "+OnStrandWarn,
			"catalog %s cannot be compared with the one at %s, so nothing was published: %s", first.Catalog, first.At, first.Problem)
	default:
		count := 0
		for _, s := range first.Stranded {
			count += len(s.Bundles)
		}
		text := fmt.Sprintf("catalog %s would strand %s of the one at %s, so nothing was published", first.Catalog, env.Number(count, "installed version", "installed versions"), first.At)
		if n > 1 {
			text += fmt.Sprintf("; %s too", env.Number(n-1, "more catalog would strand some", "more catalogs would strand some"))
		}
		err = advice.New(advice.Mismatch, "change the configuration as listed, or set Options.OnStrand to "+OnStrandWarn, "%s", text)
	}
	return &ReplacedError{Replaced: all, err: err}
}

// RefuseLost returns a *ReplacedError if operators that clusters run lose their upgrade path, or if no catalog of the plan
// has the package of one that was mirrored.
func RefuseLost(p *plan.Plan, replaced []ReplacedCatalog, mirrored []installed.Operator) error {
	lost := gonePackages(p, mirrored)
	where := "the catalogs of " + p.Name
	for i := range replaced {
		if r := &replaced[i]; len(r.Installed) > 0 {
			if len(lost) == 0 {
				where = "catalog " + r.Catalog
			}
			lost = append(lost, r.Installed...)
		}
	}
	if slices.Sort(lost); len(lost) == 0 {
		return nil
	}
	lost = slices.Compact(lost)
	return &ReplacedError{Replaced: replaced, err: advice.New(advice.Mismatch,
		"change the configuration as listed, give Options.Installed with what clusters run now, or set Options.ForgetInstalled if they no longer run these; Options.OnStrand "+OnStrandWarn+" publishes anyway",
		"%s would strand %s that clusters run (%s), so nothing was published", where, env.Number(len(lost), "operator", "operators"), strings.Join(lost[:min(len(lost), maxReplacedWarnings)], ", "))}
}

// gonePackages returns the operators of packages that no catalog of a plan has.
func gonePackages(p *plan.Plan, mirrored []installed.Operator) []string {
	has := map[string]bool{}
	for _, c := range p.Catalogs {
		for _, pkg := range c.Packages {
			has[pkg.Name] = true
		}
	}
	var gone []string
	for _, o := range mirrored {
		if !has[o.Package] {
			gone = append(gone, runningName(o))
		}
	}
	return gone
}

// runningName returns the bundle of an operator, or else the package and version.
func runningName(o installed.Operator) string {
	return cmp.Or(o.Bundle, o.Package+" "+o.Version)
}

// RefuseOlder returns a *ReplacedError if a catalog is older than the one that it replaces.
func RefuseOlder(all []ReplacedCatalog, allowed bool) error {
	i := slices.IndexFunc(all, func(r ReplacedCatalog) bool { return r.IsOlder() })
	if allowed || i < 0 {
		return nil
	}
	return &ReplacedError{Replaced: all, err: advice.New(advice.Mismatch, "set Options.AllowOlder to replace newer content by older",
		"catalog %s is older than the one at %s, so nothing was published: %s", all[i].Catalog, all[i].At, all[i].olderReason())}
}
