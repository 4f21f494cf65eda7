package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// AllTags implements TagLists.
func (w *fixture) AllTags(_ context.Context, repository string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for name := range w.tags {
		if tag, ok := strings.CutPrefix(name, repository+":"); ok {
			all = append(all, tag)
		}
	}
	if all == nil {
		return nil, fmt.Errorf("listing tags of %s: %w", repository, fs.ErrNotExist)
	}
	return all, nil
}

// ruleTime is the time at which the plans of these tests are made.
var ruleTime = time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)

// dated makes an image whose config has a time of creation, if created is not "".
func (w *fixture) dated(content, created string) ocispec.Descriptor {
	config := `{"of":"` + content + `"}`
	if created != "" {
		config = `{"of":"` + content + `","created":"` + created + `"}`
	}
	return w.json(ocispec.MediaTypeImageManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": w.put(ocispec.MediaTypeImageConfig, []byte(config)), "layers": []ocispec.Descriptor{w.put(ocispec.MediaTypeImageLayer, []byte(content))},
	})
}

// app fills a repository with tags of all kinds.
func (w *fixture) app() {
	w.push("quay.io/org/app:v1.0.0", w.dated("1.0.0", "2026-01-01T12:00:00Z"))
	w.push("quay.io/org/app:v1.1.0", w.dated("1.1.0", "2026-06-01T12:00:00Z"))
	w.push("quay.io/org/app:v1.2.0", w.dated("1.2.0", "2026-11-20T12:00:00+02:00"))
	w.push("quay.io/org/app:v2.0.0-rc.1", w.dated("2.0.0-rc.1", "2026-11-22T12:00:00Z"))
	w.push("quay.io/org/app:nightly", w.dated("nightly", "1970-01-01T00:00:00Z"))
	child := w.dated("latest", "2026-10-01T00:00:00Z")
	child.Platform = &ocispec.Platform{OS: "linux", Architecture: "amd64"}
	attestation := w.dated("attestation", "")
	attestation.Platform = &ocispec.Platform{OS: "unknown", Architecture: "unknown"}
	w.push("quay.io/org/app:latest", w.json(ocispec.MediaTypeImageIndex, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": []ocispec.Descriptor{attestation, child},
	}))
	w.push("quay.io/org/app:sha256-"+strings.Repeat("ab", 32)+".sig", w.dated("signature", ""))
}

// planTags makes a plan of rules.
func (w *fixture) planTags(stanza string) (*plan.Plan, error) {
	sources := w.sources()
	sources.TagLists = w
	return Plan(w.t.Context(), parseConfig(w.t, stanza), "imageset", sources, Options{Now: ruleTime})
}

func TestTagRules(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.app()
	for rule, want := range map[string]string{
		"{regex: v1.*}":                                    "v1.0.0 v1.1.0 v1.2.0",
		`{semver: ">=1.1"}`:                                "v1.1.0 v1.2.0",
		`{semver: ">=1.1-0", newest: 1}`:                   "v2.0.0-rc.1",
		"{newest: 2}":                                      "v1.2.0 v2.0.0-rc.1",
		"{newest: 5, exclude: [v1.*]}":                     "latest nightly v2.0.0-rc.1",
		"{olderThan: 3d}":                                  "latest v1.0.0 v1.1.0", // v1.2.0 was created on that day
		"{newerThan: 3d}":                                  "v1.2.0 v2.0.0-rc.1",
		"{newerThan: 2026-06-01}":                          "latest v1.1.0 v1.2.0 v2.0.0-rc.1",
		"{semver: '*', olderThan: 1w, newest: 1}":          "v1.1.0",
		"{newerThan: 2026-01-01, olderThan: '2026-06-02'}": "v1.0.0 v1.1.0",
		"{regex: v9, allowNone: true}":                     "",
	} {
		p, err := w.planTags("  additionalImages:\n  - name: quay.io/org/app\n    tags: " + rule + "\n  - name: quay.io/org/app:latest\n    targetRepo: fixed\n")
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		var tags []string
		for _, img := range p.Images {
			if img.Repository == "fixed" {
				continue
			}
			tags = append(tags, img.Tags[0])
			if r := img.Reasons; len(r) != 1 || r[0].List != "additionalImages" || r[0].Rule != p.TagRules[0].Rule {
				t.Errorf("%s: reasons of %s: %+v", rule, img.Source, r)
			}
		}
		slices.Sort(tags)
		if diff := cmp.Diff(want, strings.Join(tags, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
		if got := p.TagRules; len(got) != 1 || got[0].Selected != len(tags) || got[0].Repository != "quay.io/org/app" {
			t.Errorf("%s: %+v", rule, got)
		}
		reread(t, p)
	}
}

func TestTagRulesOfOneDayGiveTheSamePlan(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.app()
	var plans []string
	for _, now := range []time.Time{ruleTime, ruleTime.Add(17*time.Hour + 59*time.Minute), ruleTime.Add(18 * time.Hour)} {
		sources := w.sources()
		sources.TagLists = w
		cfg := parseConfig(t, "  additionalImages:\n  - {name: quay.io/org/app, tags: {olderThan: 3d, newerThan: 52w}}\n  - {name: quay.io/org/app, tags: {newest: 1}}\n")
		p, err := Plan(t.Context(), cfg, "imageset", sources, Options{Now: now, Jobs: 1 + len(plans)})
		fail.On(t, err)
		plans = append(plans, string(jsonOf(t, p)))
	}
	if plans[0] != plans[1] {
		t.Errorf("the plan changes during a day: %s", cmp.Diff(plans[0], plans[1]))
	}
	for i, want := range []string{`"createdBefore": "2026-11-20"`, `"createdAfter": "2025-11-24"`} {
		if !strings.Contains(plans[i], want) {
			t.Errorf("the plan does not contain %s:\n%s", want, plans[i])
		}
	}
	if plans[0] == plans[2] || !strings.Contains(plans[2], `"createdBefore": "2026-11-21"`) {
		t.Error("the plan does not change the next day")
	}
}

func TestTagRulesThatSelectNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.app()
	for rule, want := range map[string]string{
		"{regex: v3.*}": "imageset.yaml:6: quay.io/org/app: none of its 6 tags matches the rule (regex v3.*); it has v2.0.0-rc.1, v1.2.0, v1.1.0 and 3 more",
		`{regex: '1\.2'}`: `imageset.yaml:6: quay.io/org/app: none of its 6 tags matches the rule (regex 1\.2); ` +
			`regex must match the whole tag; for v1.2.0, write ".*1\\.2.*"`,
		"{semver: ~2}":                            `v2.0.0-rc.1 is a prerelease: a range matches prereleases only if it has one, such as ">=1.2.0-0"`,
		"{semver: '>=1', newerThan: 2026-11-23}":  "3 tags match by their names; the newest is v1.2.0, created on 2026-11-20, the oldest v1.0.0, created on 2026-01-01",
		"{regex: nightly, newerThan: 2026-11-23}": "1 tag matches by its name, but no creation time is known",
	} {
		_, err := w.planTags("  additionalImages:\n  - name: quay.io/org/app\n    tags: " + rule + "\n")
		if err == nil || advice.KindOf(err) != advice.Input || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", rule, err, want)
		}
	}
	_, err := w.planTags("  additionalImages:\n  - name: quay.io/org/nothing\n    tags: {newest: 1}\n")
	if advice.KindOf(err) != advice.Input || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "imageset.yaml:6: quay.io/org/nothing: its tags cannot be listed: ") {
		t.Errorf("a repository that does not exist: %v", err)
	}
}

func TestTagRulesNote(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.app()
	for rule, want := range map[string]string{
		"{regex: v.*, exclude: [rc]}":               "quay.io/org/app: exclude rc matches no tag, only a part of selected ones; an expression must match the whole tag, such as .*rc.*",
		"{olderThan: 3d}":                           "quay.io/org/app: 1 tag has no creation time that can be read; olderThan and newerThan do not select them",
		"{newest: 2, regex: nightly|latest|v1.0.0}": "quay.io/org/app: 1 tag has no creation time that can be read; newest counts them as the oldest",
		"{semver: ~2, allowNone: true}":             `quay.io/org/app: none of its 6 tags matches the rule (semver ~2); v2.0.0-rc.1 is a prerelease: a range matches prereleases only if it has one, such as ">=1.2.0-0"`,
		"{newest: 2}":                               "quay.io/org/app: 1 tag has no creation time that can be read; newest counts them as the oldest",
	} {
		p, err := w.planTags("  additionalImages:\n  - name: quay.io/org/app\n    tags: " + rule + "\n")
		if err != nil {
			t.Errorf("%s: %v", rule, err)
		} else if !slices.Contains(p.Notes, want) {
			t.Errorf("%s: %q\nwant %s", rule, p.Notes, want)
		}
	}
}

// TestTagRulesReadFew checks that the newest versions of a certain age are found without reading
// thousands of images.
func TestTagRulesReadFew(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 3000 {
		tag := fmt.Sprintf("v1.%d.0", i)
		w.push("quay.io/org/many:"+tag, w.dated(tag, ruleTime.AddDate(0, 0, i-3000).Format(time.RFC3339)))
	}
	p, err := w.planTags("  additionalImages:\n  - name: quay.io/org/many\n    tags: {semver: '>=1', newest: 2, olderThan: 3d}\n")
	fail.On(t, err)
	tags := elements.Map(p.Images, func(img plan.Image) string { return img.Tags[0] })
	fail.Diff(t, []string{"v1.2995.0", "v1.2996.0"}, tags)
	if n := len(w.reads); n > datedBatch {
		t.Errorf("%d manifests were read", n)
	}
	_, err = w.planTags("  additionalImages:\n  - name: quay.io/org/many\n    tags: {olderThan: 3d}\n")
	if err == nil || !strings.Contains(err.Error(), "the creation times of 3000 images would have to be read, more than 2000") || advice.KindOf(err) != advice.Input {
		t.Errorf("of too many: %v", err)
	}
}
