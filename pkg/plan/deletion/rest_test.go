package deletion_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
)

// TestRestOf compares a plan with configurations that name less, something else, or the same.
func TestRestOf(t *testing.T) {
	t.Parallel()
	const (
		all     = "platform: {graph: true, channels: [{name: stable-4.19}]}, helm: {repositories: [{name: a, url: 'https://charts.example.com'}]}, additionalImages: [{name: quay.io/a/extra:v1}]"
		both    = "operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo, minVersion: 1.0.0}, {name: bar}]}]"
		without = "operators: [{catalog: quay.io/a/index:v1}]"
	)
	for name, tc := range map[string]struct{ text, rest, absent string }{
		"the same":            {all + ", " + both, "", ""},
		"whole catalog":       {all + ", " + without, "", ""},
		"one package":         {all + ", operators: [{catalog: quay.io/a/index:v1, packages: [{name: bar}]}]", "foo.v1 foo.v2", ""},
		"another range":       {all + ", operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo, minVersion: 2.0.0}, {name: bar}]}]", "foo.v1", ""},
		"one channel":         {all + ", operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo, channels: [{name: fast}]}, {name: bar}]}]", "foo.v1", ""},
		"no catalog":          {all, "bar.v1 foo.v1 foo.v2 quay.io/a/index:v1", ""},
		"only a catalog":      {without, "4.19.1 4.19.2 extra graph web", ""},
		"one release":         {"platform: {channels: [{name: fast-4.19}]}, additionalImages: [{name: quay.io/a/extra:v1}], " + without, "4.19.1 graph web", ""},
		"a payload":           {"platform: {graph: true, release: 'quay.io/a/release:4.19.1'}, " + without, "4.19.2 extra web", ""},
		"path":                {"platform: {channels: [{name: fast-4.19, minVersion: 4.19.3}, {name: candidate-4.20, minVersion: 4.19.2}]}, " + without, "4.19.1 extra graph web", "the channel candidate-4.20"},
		"absent package":      {all + ", operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo}, {name: baz}]}]", "bar.v1", "the package baz of quay.io/a/index:v1"},
		"absent range":        {all + ", operators: [{catalog: quay.io/a/index:v1, packages: [{name: bar}, {name: foo, minVersion: 3.0.0}]}]", "foo.v1 foo.v2", "what is selected of the package foo of quay.io/a/index:v1"},
		"absent catalog":      {all + ", operators: [{catalog: quay.io/a/index:v1}, {catalog: quay.io/b/index:v1}, {catalog: quay.io/lost/index:v1}]", "", "the catalog quay.io/b/index:v1"},
		"another digest":      {all + ", operators: [{catalog: 'quay.io/a/index@sha256:" + strings.Repeat("0", 64) + "', targetTag: v1}]", "bar.v1 foo.v1 foo.v2 quay.io/a/index:v1", strings.Repeat("0", 64)},
		"no graph":            {strings.Replace(all, "graph: true, ", "", 1) + ", " + without, "graph", ""},
		"blocked graph":       {all + ", blockedImages: [{name: registry.example.com/ubi9}], " + without, "", ""},
		"blocked images":      {all + ", blockedImages: [{name: a/(extra|shared|graph|release|index|chart)}, {name: '^quay.io/a/foo1:v1$'}, {name: lost}], " + without, "extra quay.io/a/foo1 quay.io/a/shared quay.io/lost/extra", ""},
		"blocked, unselected": {strings.Replace(all, "extra:v1", "other:v1", 1) + ", blockedImages: [{name: bar1}, {name: other}], operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo}]}]", "bar.v1 extra", ""},
		"blocked, absent":     {strings.Replace(all, "extra:v1}", "extra:v1}, {name: quay.io/a/other:v1}", 1) + ", blockedImages: [{name: other}], " + without, "", ""},
		"payload by a tag":    {"platform: {graph: true, release: 'quay.io/a/release:latest'}, " + without, "4.19.2 extra web", ""},
		"name with a folder":  {strings.Replace(all, "'https://charts.example.com'", "'oci://charts.example.com', charts: [{name: team/web}]", 1) + ", " + without, "", ""},
		"other image":         {"additionalImages: [{name: quay.io/a/extra:v2}, {name: quay.io/lost/extra:v1}, {name: quay.io/blocked/extra:v1}]", "4.19.1 4.19.2 bar.v1 extra foo.v1 foo.v2 graph quay.io/a/index:v1 web", "the image quay.io/a/extra:v2"},
		"tags of repository":  {strings.Replace(all, "extra:v1}", "extra, tags: {newest: 2}}", 1) + ", " + without, "", ""},
		"other channel":       {strings.Replace(all, "stable-4.19", "stable-4.20", 1) + ", " + without, "4.19.1 4.19.2", "the channel stable-4.20"},
		"other payload":       {"platform: {graph: true, release: 'quay.io/a/release:4.19.3'}, " + without, "4.19.1 4.19.2 extra web", "the release quay.io/a/release:4.19.3"},
		"chart, password":     {strings.Replace(all, "'https://charts", "'https://ann:secret@charts", 1) + ", " + without, "", ""},
		"other chart":         {strings.Replace(all, "'https://charts.example.com'", "'https://charts.example.com', charts: [{name: app}]", 1) + ", " + without, "web", "the chart app of https://charts.example.com"},
		"local chart":         {"platform: {graph: true, channels: [{name: stable-4.19}]}, additionalImages: [{name: quay.io/a/extra:v1}], helm: {local: [{name: x, path: /x.tgz}]}, " + without, "web", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := imageset.Parse("i.yaml", []byte("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {"+tc.text+"}\n"))
			fail.On(t, err)
			made, err := imageset.Parse("made.yaml", []byte("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {"+both+"}\n"))
			fail.On(t, err)
			p := sample()
			p.Catalogs[0].Selection, err = made.Mirror.Operators[0].MarshalJSON()
			fail.On(t, err)
			p.Missing = []plan.Missing{{Source: "quay.io/lost/index:v1", Kind: plan.CatalogImage}, {Source: "quay.io/lost/extra:v1", Kind: plan.AdditionalImage, Reasons: []plan.Reason{{List: "additionalImages"}}}}
			p.Blocked = []plan.Blocked{{Source: "quay.io/blocked/extra:v1"}}
			for i := range p.Releases { // 4.19.2 is on a path of the channel fast-4.19
				if p.Releases[i].Digest == digest.FromString("4.19.2") {
					p.Releases[i].Reasons[1].Reason = "path"
				}
			}
			switch name {
			case "chart, password":
				p.Charts[0].Origin = redact.Address("https://ann:secret@charts.example.com")
			case "name with a folder":
				p.Charts[0].Origin = "oci://charts.example.com"
			case "blocked graph":
				p.GraphData = nil
			case "payload by a tag":
				for i := range p.Releases {
					if r := &p.Releases[i]; r.Version == "4.19.1" {
						r.Reasons, r.Tag = []plan.ReleaseReason{{Reason: "release"}}, r.Name()
					}
				}
			}
			rest := deletion.RestOf(c, p)
			got := map[string]bool{}
			if choice := rest.Choice; choice != nil {
				for b, selected := range choice.Bundles {
					got[b.Name] = selected
				}
				for _, part := range []map[string]bool{choice.Catalogs, choice.Releases, choice.Charts, choice.Images} {
					maps.Copy(got, part)
				}
				for img, b := range choice.Blocked {
					got[img.Source] = len(b.Reasons) > 0 && b.Pattern != "" && b.Source == img.Source
				}
				got["graph"] = choice.Graph
			}
			for name := range got {
				short := strings.TrimSuffix(strings.TrimSuffix(strings.Fields(strings.TrimPrefix(name, "ocp "))[0], "-x86_64"), ":v1")
				if strings.HasPrefix(short, "quay.io/a/extra") {
					short = "extra"
				}
				if short != "quay.io/a/index" && short != name {
					got[short] = got[name]
					delete(got, name)
				}
			}
			maps.DeleteFunc(got, func(_ string, selected bool) bool { return !selected })
			fail.Diff(t, tc.rest, strings.Join(slices.Sorted(maps.Keys(got)), " "))
			if text := strings.Join(rest.Absent, "\n"); (text == "") != (tc.absent == "") || !strings.HasSuffix(text, tc.absent) || text != "" && !strings.HasPrefix(text, "i.yaml:3: ") {
				t.Errorf("absent: %q, want %q", text, tc.absent)
			}
		})
	}
}

// TestRestOfFolders compares catalogs of two folders with the same name, here and elsewhere.
func TestRestOfFolders(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{}
	for _, folder := range []string{"a", "b"} {
		p.Catalogs = append(p.Catalogs, plan.Catalog{Source: "oci:///" + folder + "/index", Repository: folder + "/index", Tag: "latest"})
	}
	for text, want := range map[string]int{
		"[{catalog: 'oci:///a/index'}, {catalog: 'oci:///b/index'}]": 0,
		"[{catalog: 'oci:///b/index'}]":                              1, // the other one is dropped
		"[{catalog: 'oci:///elsewhere/index'}]":                      0,
	} {
		c, err := imageset.Parse("i.yaml", []byte("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {operators: "+text+"}\n"))
		fail.On(t, err)
		rest := deletion.RestOf(c, p)
		dropped := 0
		if rest.Choice != nil {
			dropped = len(rest.Choice.Catalogs)
		}
		if len(rest.Absent) > 0 || dropped != want {
			t.Errorf("%s: %d dropped, absent: %v", text, dropped, rest.Absent)
		}
	}
}
