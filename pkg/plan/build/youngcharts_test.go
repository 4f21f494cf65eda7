package build

import (
	"fmt"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// datedIndex is the index of a repository with versions of the chart web and the days of their creation.
func datedIndex(versions ...string) string {
	text := "apiVersion: v1\nentries:\n  web:\n"
	for _, v := range versions {
		version, created, _ := strings.Cut(v, " ")
		text += fmt.Sprintf("  - name: web\n    version: %s\n    urls: [web-%s.tgz]\n", version, version)
		if created != "" {
			text += "    created: \"" + created + "\"\n"
		}
	}
	return text
}

// TestMinAgeOfCharts leaves out versions of charts that were published too late, in both kinds of repositories.
func TestMinAgeOfCharts(t *testing.T) {
	t.Parallel()
	const old, young = "2026-11-01T10:00:00.123456789Z", "2026-11-22T10:00:00+02:00"
	for name, tc := range map[string]struct {
		versions []string
		entry    string // "" selects all charts
		want     string
		note     string
		err      string
	}{
		"the newest":             {[]string{"1.0.0 " + old, "1.1.0 " + old, "1.2.0 " + young}, "{name: web}", "1.1.0", "web 1.2.0 (2026-11-22)", ""},
		"a range":                {[]string{"1.0.0 " + old, "1.1.0 " + young, "1.2.0 " + old}, "{name: web, versions: '>=1.0.0'}", "1.2.0 1.0.0", "web 1.1.0 (2026-11-22)", ""},
		"two newest":             {[]string{"1.0.0 " + old, "1.1.0 " + old, "1.2.0 " + young}, "{name: web, newest: 2}", "1.1.0 1.0.0", "web 1.2.0 (2026-11-22)", ""},
		"named":                  {[]string{"1.0.0 " + old, "1.2.0 " + young}, "{name: web, version: 1.2.0}", "1.2.0", "", ""},
		"unknown age":            {[]string{"1.0.0 " + old, "1.2.0"}, "{name: web}", "1.2.0", "", ""},
		"nothing old enough":     {[]string{"1.2.0 " + young}, "{name: web}", "", "", "versions younger than the minimum age were left out before: web 1.2.0 (2026-11-22)"},
		"all charts of an index": {[]string{"1.0.0 " + old, "1.2.0 " + young}, "", "1.0.0", "web 1.2.0 (2026-11-22)", ""},
	} {
		for _, url := range []string{"https://charts.example.com/stable", "oci://quay.io/charts"} {
			t.Run(name+" at "+url, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				text := "  helm:\n    repositories:\n    - url: " + url + "\n"
				if tc.entry != "" {
					text += "      charts: [" + tc.entry + "]\n"
				} else if strings.HasPrefix(url, ociScheme) {
					t.Skip("a registry does not list its charts")
				}
				for _, v := range tc.versions {
					version, created, _ := strings.Cut(v, " ")
					annotations := map[string]string{}
					if created != "" {
						annotations[ocispec.AnnotationCreated] = created
					}
					w.push("quay.io/charts/web:"+version, w.json(ocispec.MediaTypeImageManifest, map[string]any{
						"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "annotations": annotations,
						"config": w.put("application/vnd.cncf.helm.config.v1+json", []byte("{}")), "layers": []ocispec.Descriptor{},
					}))
				}
				from := w.sources()
				from.Tags, from.Repositories = w, &chartWeb{indexes: map[string]string{url: datedIndex(tc.versions...)}}
				cfg := parseConfig(t, text)
				all, notes, err := selectCharts(t.Context(), cfg.Mirror.Helm, from, Options{Now: ruleTime, MinAge: 3, Jobs: 2})
				if tc.err != "" {
					if err == nil || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), tc.err) {
						t.Errorf("error %v, want %s", err, tc.err)
					}
					return
				}
				fail.On(t, err)
				got := elements.Map(all, func(c wantedChart) string { return c.chart.Version })
				fail.Diff(t, tc.want, strings.Join(got, " "))
				if note := strings.Join(notes, "\n"); (note != "") != (tc.note != "") || !strings.Contains(note, tc.note) {
					t.Errorf("notes %q, want %q", note, tc.note)
				}
				if all, _, err := selectCharts(t.Context(), cfg.Mirror.Helm, from, Options{}); err != nil || len(all) == 0 || all[0].chart.Version != "1.2.0" && tc.entry != "" {
					t.Errorf("without a minimum age: %v, %v", all, err)
				}
			})
		}
	}
}

// TestMinAgeOfRelatedImages: a bundle is as young as the youngest image that it names.
func TestMinAgeOfRelatedImages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	bundle := func(name, created, operand string) map[string]any {
		related := "quay.io/org/gone@sha256:" + strings.Repeat("0", 64)
		if operand != "" {
			related = w.push("quay.io/org/operands", w.dated(name+" operand", operand))
		}
		return map[string]any{
			"image":         w.push("quay.io/org/bundles", w.dated(name, created)),
			"relatedImages": []map[string]string{{"name": "operand", "image": related}},
		}
	}
	const old, young = "2026-01-01T00:00:00Z", "2026-11-22T00:00:00Z"
	w.catalog("/cat", "op", bundle("old", old, old), bundle("unknown operand", old, ""), bundle("young operand", old, young), bundle("undated bundle", "", young))
	p, _, err := w.aged("  operators: [{catalog: 'dir:///cat'}]\n")
	fail.On(t, err)
	fail.Diff(t, "stable:op.v1.1.0 op.v1.1.0", bundlesOf(p))
	if len(p.Catalogs[0].TooYoung) != 2 || p.Catalogs[0].TooYoung[0].Created != "2026-11-22" {
		t.Errorf("too young: %v", p.Catalogs[0].TooYoung)
	}
}
