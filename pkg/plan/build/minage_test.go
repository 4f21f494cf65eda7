package build

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

// agedCatalog makes a catalog with bundles of these creation times.
func (w *fixture) agedCatalog(created ...string) {
	var bundles []map[string]any
	for _, at := range created {
		bundles = append(bundles, map[string]any{"image": w.push("quay.io/org/op", w.dated("bundle "+at+strings.Repeat("x", len(bundles)), at))})
	}
	w.catalog("/cat", "op", bundles...)
}

// aged makes a plan with a minimum age of 3 days.
func (w *fixture) aged(stanza string) (*plan.Plan, []string, error) {
	sources := w.sources()
	sources.TagLists = w
	var warned []string
	p, err := Plan(w.t.Context(), parseConfig(w.t, stanza), "imageset", sources, Options{Now: ruleTime, MinAge: 3, Warn: func(text string) { warned = append(warned, text) }})
	return p, warned, err
}

// bundlesOf returns the bundles of the first catalog of a plan.
func bundlesOf(p *plan.Plan) string {
	var all []string
	for _, pkg := range p.Catalogs[0].Packages {
		for _, ch := range pkg.Channels {
			all = append(all, ch.Name+":"+ch.Head)
			all = append(all, elements.Map(ch.Bundles, func(b plan.Bundle) string { return b.Name })...)
		}
	}
	return strings.Join(all, " ")
}

// TestMinAgeOfBundles moves heads back to the newest bundle that is old enough.
func TestMinAgeOfBundles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		created []string
		config  string
		want    string
		young   string
	}{
		"two young heads": {
			[]string{"2026-01-01T00:00:00Z", "2026-11-19T23:59:59Z", "2026-11-20T00:00:00Z", "2026-11-23T05:00:00Z"}, "{}",
			"stable:op.v1.1.0 op.v1.1.0", "op.v1.2.0 2026-11-20 op.v1.3.0 2026-11-23",
		},
		"nothing young":          {[]string{"2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"}, "{}", "stable:op.v1.1.0 op.v1.1.0", ""},
		"unknown age":            {[]string{"2026-01-01T00:00:00Z", ""}, "{}", "stable:op.v1.1.0 op.v1.1.0", ""},
		"a range":                {[]string{"2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-11-22T00:00:00Z"}, "{packages: [{name: op, minVersion: 1.0.0}]}", "stable:op.v1.1.0 op.v1.0.0 op.v1.1.0", "op.v1.2.0 2026-11-22"},
		"the whole catalog":      {[]string{"2026-01-01T00:00:00Z", "2026-11-22T00:00:00Z"}, "{full: true}", "stable:op.v1.0.0 op.v1.0.0", "op.v1.1.0 2026-11-22"},
		"a bundle that is named": {[]string{"2026-01-01T00:00:00Z", "2026-11-22T00:00:00Z"}, "{packages: [{name: op, bundles: [{name: op.v1.1.0}]}]}", "stable:op.v1.1.0 op.v1.1.0", ""},
		// Its successor is old: without it, the channel would have two heads.
		"young below an old head": {[]string{"2026-01-01T00:00:00Z", "2026-11-22T00:00:00Z", "2026-02-01T00:00:00Z"}, "{packages: [{name: op, minVersion: 1.0.0}]}", "stable:op.v1.2.0 op.v1.0.0 op.v1.1.0 op.v1.2.0", "op.v1.1.0 2026-11-22"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.agedCatalog(tc.created...)
			p, warned, err := w.aged("  operators: [" + strings.Replace(tc.config, "{", "{catalog: dir:///cat, ", 1) + "]\n")
			fail.On(t, err)
			fail.Diff(t, tc.want, bundlesOf(p))
			var young []string
			for _, y := range p.Catalogs[0].TooYoung {
				young = append(young, y.Bundle, y.Created)
			}
			fail.Diff(t, tc.young, strings.Join(young, " "))
			if noted := strings.Contains(strings.Join(p.Notes, "\n"), "minimum age"); noted != (tc.young != "" || name == "unknown age") {
				t.Errorf("notes: %q", p.Notes)
			}
			if (len(warned) > 0) != (name == "young below an old head") {
				t.Errorf("warnings: %q", warned)
			}
			// The plan can be read, and the catalog built again from it.
			again := reread(t, p)
			if again.Catalogs[0].Built {
				fail.On(t, RebuildCatalog(t.Context(), again.Catalogs[0], nil, "", w.sources()))
			}
		})
	}
}

// TestMinAgeLeavesNothing checks the errors if everything that is selected is too young.
func TestMinAgeLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.agedCatalog("2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z")
	_, _, err := w.aged("  operators: [{catalog: dir:///cat, packages: [{name: op}]}]\n")
	if err == nil || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "all bundles of package op are younger than the minimum age: op.v1.0.0 (2026-11-22), op.v1.1.0 (2026-11-23)") {
		t.Error(err)
	}
}

// TestMinAgeOfDependencies resolves dependencies again without bundles that are too young.
func TestMinAgeOfDependencies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	bundle := func(name, created string) map[string]any {
		return map[string]any{"image": w.push("quay.io/org/bundles", w.dated(name, created))}
	}
	w.catalog("/asks", "op", bundle("op", "2026-01-01T00:00:00Z"))
	w.need("/asks", "dep")
	w.catalog("/cat", "dep", bundle("dep0", "2026-01-01T00:00:00Z"), bundle("dep1", "2026-11-22T00:00:00Z"))
	p, _, err := w.aged("  operators:\n  - {catalog: 'dir:///asks', dependencies: true, packages: [{name: op}]}\n  - {catalog: 'dir:///cat', packages: [{name: dep}]}\n")
	fail.On(t, err)
	i := slices.IndexFunc(p.Catalogs, func(c plan.Catalog) bool { return c.Source == "dir:///cat" })
	fail.Diff(t, "dep.v1.0.0", p.Catalogs[i].Packages[0].Channels[0].Head)
}

// TestMinAgeOfImages leaves out tags that rules select, and refuses those that the configuration names.
func TestMinAgeOfImages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.app()
	pinned := w.push("quay.io/org/pinned", w.dated("pinned", "2026-11-22T00:00:00Z"))
	p, _, err := w.aged(`  additionalImages:
  - {name: quay.io/org/app, tags: {regex: v.*, newest: 1}}
  - {name: 'quay.io/org/app:v2.0.0-rc.1'}
  - {name: 'quay.io/org/app:nightly'}
  - {name: '` + pinned + `'}
`)
	fail.On(t, err)
	sources := elements.Map(p.Images, func(img plan.Image) string { return img.Source })
	slices.Sort(sources)
	fail.Diff(t, []string{"quay.io/org/app:nightly", "quay.io/org/app:v1.1.0", pinned}, sources)
	if len(p.Missing) != 1 || p.Missing[0].Source != "quay.io/org/app:v2.0.0-rc.1" || p.Missing[0].Message != "it was created on 2026-11-22, and images must be at least 3 days old" {
		t.Errorf("%+v", p.Missing)
	}
	fail.Diff(t, "2026-11-20", p.TagRules[0].CreatedBefore)
}

// agedPayloads are images, some of them young.
type agedPayloads struct {
	Sources
	young map[string]bool
}

func (a agedPayloads) Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	at := "2026-01-01T00:00:00Z"
	if a.young[source] {
		at = "2026-11-22T00:00:00Z"
	}
	if desc.MediaType == ocispec.MediaTypeImageConfig || strings.Contains(desc.MediaType, "container.image") {
		return io.NopCloser(strings.NewReader(`{"created":"` + at + `"}`)), nil
	}
	return a.Images.Blob(ctx, source, desc, offset)
}

// TestMinAgeOfReleases selects the newest release that is old enough.
func TestMinAgeOfReleases(t *testing.T) {
	t.Parallel()
	const config = "  platform: {channels: [{name: fast-4.20}]}\n"
	w := newReleaseFixture(t, releasetest.Small())
	before, err := w.make(config)
	fail.On(t, err)
	head := before.Releases[0]
	sources := w.sources()
	aged := agedPayloads{sources, map[string]bool{head.Source: true}}
	choose := func(stanza string) (*releaseSelection, error) {
		cfg := parseConfig(t, stanza)
		from := sources
		from.Images = struct {
			manifestReader
			agedPayloads
		}{sources.Images, aged}
		return releaseReader{cfg: cfg.Mirror.Platform, sources: from, opts: Options{Now: time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC), MinAge: 3, Jobs: 2}}.choose(t.Context())
	}
	chosen, err := choose(config)
	fail.On(t, err)
	if len(chosen.releases) != 1 || chosen.releases[0].source == head.Source || chosen.releases[0].version >= head.Version {
		t.Errorf("%+v", chosen.releases[0])
	}
	if !strings.Contains(strings.Join(chosen.notes, "\n"), "younger than the minimum age: "+head.Version+" (2026-11-22)") {
		t.Errorf("%q", chosen.notes)
	}
	_, err = choose("  platform: {channels: [{name: fast-4.20, minVersion: " + head.Version + ", maxVersion: " + head.Version + "}]}\n")
	says(t, err, "is younger than the minimum age")
}

// A manifestReader reads manifests.
type manifestReader interface {
	Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error)
}
