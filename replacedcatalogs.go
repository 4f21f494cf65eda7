package gantry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/plan"
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

// OnStrands returns the values of MirrorOptions.OnStrand.
func OnStrands() []string { return []string{OnStrandKnown, OnStrandWarn, OnStrandRefuse} }

// checkOnStrand returns an error if the value of OnStrand is unknown.
func checkOnStrand(value string) error {
	if value != "" && !slices.Contains(OnStrands(), value) {
		return inputHint("give "+strings.Join(OnStrands(), ", "), "Options.OnStrand %q", value)
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
	// Installed are the stranded bundles that clusters run, as far as a run of the image set was told.
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
		text += " (and " + number(more, "more channel", "more channels") + ")"
	}
	return text
}

// String returns the times as a sentence.
func (s OlderSource) String() string {
	return fmt.Sprintf("the source of the catalog was created on %s, before the one of the published catalog on %s", s.After.Format(time.DateOnly), s.Before.Format(time.DateOnly))
}

// A replacedReader compares the catalogs of a run with those at the destination.
type replacedReader struct {
	session *Session
	to      Destination
	// images reads the catalogs of the plan.
	images image.Reader
	// originals reports whether the sources of the plan are available: they are not at a site.
	originals bool
	// running are the operators that clusters run, as far as that is known.
	running []installed.Operator
}

// compare returns the catalogs of a plan that replace others, in the order of the plan. Catalogs that are not
// published, because they name missing images, replace nothing.
func (r *replacedReader) compare(ctx context.Context, p *plan.Plan) ([]ReplacedCatalog, error) {
	withheld := namesMissing(p)
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
func (r *replacedReader) one(ctx context.Context, p *plan.Plan, c plan.Catalog) (*ReplacedCatalog, error) {
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
	was, err := r.session.graphOf(ctx, before.images)
	if err == nil {
		err = r.compareWith(ctx, c, was, before, replaced)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		replaced.Problem = errorText(err)
		if before.keep {
			r.keepGraph(ctx, c)
		}
	}
	return replaced, nil
}

// checkReplaced compares the catalogs of a job with those that they replace, warns about what clusters lose, and
// refuses what the options do not permit. Catalogs that are built again during the copy are compared, too.
func (s *Session) checkReplaced(ctx context.Context, o *MirrorOptions, j *job, made *Selected, originals bool, result *MirrorResult) error {
	running, err := s.running(ctx, j.to, &o.Selection, made, j.Plan().Name)
	if err != nil {
		return err
	}
	r := &replacedReader{session: s, to: j.to, images: j.catalogs, originals: originals, running: running.all}
	check := func(ctx context.Context, p *plan.Plan) error {
		replaced, err := r.compare(ctx, p)
		if err != nil {
			return err
		}
		for _, c := range replaced {
			result.Replaced = slices.DeleteFunc(result.Replaced, func(before ReplacedCatalog) bool { return before.Catalog == c.Catalog })
		}
		result.Replaced = append(result.Replaced, replaced...)
		s.env.warnReplaced(replaced)
		if err := refuseOlder(replaced, o.AllowOlder); err != nil {
			return err
		}
		if o.OnStrand != OnStrandWarn {
			if err := refuseLost(p, replaced, running.mirrored); err != nil {
				return err
			}
		}
		return refuseStranded(replaced, o.OnStrand)
	}
	j.again = check
	return check(ctx, j.Plan())
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

// warnReplaced warns about what clusters lose.
func (e *Env) warnReplaced(all []ReplacedCatalog) {
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
				e.warn("catalog %s at %s is replaced: %d more problems", r.Catalog, r.At, len(texts)-i)
				break
			}
			e.warn("catalog %s at %s is replaced: %s", r.Catalog, r.At, text)
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

// refuseStranded returns a *ReplacedError if catalogs strand bundles and the run must not continue.
func refuseStranded(all []ReplacedCatalog, onStrand string) error {
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
		text := fmt.Sprintf("catalog %s would strand %s of the one at %s, so nothing was published", first.Catalog, number(count, "installed version", "installed versions"), first.At)
		if n > 1 {
			text += fmt.Sprintf("; %s too", number(n-1, "more catalog would strand some", "more catalogs would strand some"))
		}
		err = advice.New(advice.Mismatch, "change the configuration as listed, or set Options.OnStrand to "+OnStrandWarn, "%s", text)
	}
	return &ReplacedError{Replaced: all, err: err}
}

// refuseLost returns a *ReplacedError if operators that clusters run lose their upgrade path, or if no catalog of the plan
// has the package of one that was mirrored.
func refuseLost(p *plan.Plan, replaced []ReplacedCatalog, mirrored []installed.Operator) error {
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
		"%s would strand %s that clusters run (%s), so nothing was published", where, number(len(lost), "operator", "operators"), strings.Join(lost[:min(len(lost), maxReplacedWarnings)], ", "))}
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
	if o.Bundle != "" {
		return o.Bundle
	}
	return o.Package + " " + o.Version
}

// refuseOlder returns a *ReplacedError if a catalog is older than the one that it replaces.
func refuseOlder(all []ReplacedCatalog, allowed bool) error {
	i := slices.IndexFunc(all, func(r ReplacedCatalog) bool { return r.IsOlder() })
	if allowed || i < 0 {
		return nil
	}
	return &ReplacedError{Replaced: all, err: advice.New(advice.Mismatch, "set Options.AllowOlder to replace newer content by older",
		"catalog %s is older than the one at %s, so nothing was published: %s", all[i].Catalog, all[i].At, all[i].olderReason())}
}
