package build

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// names returns the images of a plan as "source -> repository:tag kind".
func names(p *plan.Plan) []string {
	var all []string
	for _, img := range p.Images {
		all = append(all, img.Source+" -> "+img.Repository+":"+strings.Join(img.Tags, ",")+" "+string(img.Kind))
	}
	return all
}

func TestPlan(t *testing.T) {
	w := newFixture(t)
	bundle := w.push("quay.io/org/op-bundle", w.image("bundle"))
	operand := w.push("quay.io/org/operand:v1", w.image("base", "operand"))
	multi := w.push("quay.io/org/multi", w.index("amd64", "arm64"))
	w.push("quay.io/org/bytag:v7", w.image("base", "by tag"))
	w.push("docker.io/library/centos:7", w.image("centos"))
	both := strings.Replace(operand, "@", ":v1@", 1)
	w.catalog("/cat", "op", map[string]any{
		"image":         bundle, // T11: not among its related images
		"relatedImages": related(both, multi, "quay.io/org/bytag:v7", "quay.io/org/bytag:v7", "", "centos:7"),
	})
	p := w.makePlan("  operators:\n  - catalog: dir:///cat\n    packages: [{name: op}]\n")
	hex := func(ref string) string { _, h, _ := strings.Cut(ref, "@sha256:"); return h }
	want := []string{
		"dir:///cat -> cat:latest catalog",
		"docker.io/library/centos:7 -> library/centos:7 related",
		multi + " -> org/multi:sha256-" + hex(multi) + ".image related",
		bundle + " -> org/op-bundle:sha256-" + hex(bundle) + ".image bundle",
		both + " -> org/operand:v1 related",
		"quay.io/org/bytag:v7 -> org/bytag:v7 related",
	}
	fail.Diff(t, want, names(p), cmpopts.SortSlices(strings.Compare))
	wantNotes := []string{
		"1 related image has an empty reference; skipped",
		`dir:///cat: package op: bundle op.v1.0.0 has no ClusterServiceVersion in the catalog (neither olm.csv.metadata nor in olm.bundle.object): ` +
			`consoles do not show it, and it is unknown whether OLM v1 accepts it`,
		"dir:///cat: whether 1 bundle lists all images in relatedImages is unknown, because the catalog does not have the deployments; relatedImages: complete reads the bundles",
		"image centos:7 has no registry; docker.io is used",
	}
	fail.Diff(t, wantNotes, p.Notes)
	for d, n := range w.reads {
		if n > 1 && w.types[d] != "" && !strings.Contains(string(w.blobs[d]), "configs") {
			t.Errorf("manifest %s was read %d times", d, n)
		}
	}
	if c := p.Catalogs[0]; !c.Built || !c.BinaryLess || c.Repository != "cat" || c.Tag != "latest" ||
		c.Packages[0].Channels[0].Bundles[0].Reason != "head" {
		t.Errorf("catalog: %+v", c)
	}
	for _, img := range p.Images {
		if img.Source == both {
			fail.Diff(t, []plan.Reason{{Catalog: "dir:///cat", Package: "op", Bundle: "op.v1.0.0", Name: "image0"}}, img.Reasons)
		}
	}
}

func TestRebuildCatalog(t *testing.T) {
	w := newFixture(t)
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op-bundle", w.image("b0"))})
	c := w.makePlan("  operators: [{catalog: dir:///cat}]\n").Catalogs[0]
	fail.On(t, RebuildCatalog(t.Context(), c, nil, "", w.sources()))
	c.Digest = digest.FromString("another")
	if err := RebuildCatalog(t.Context(), c, nil, "", w.sources()); err == nil {
		t.Error("a catalog with another digest was accepted")
	}
}

func TestPlanMissingImages(t *testing.T) {
	w := newFixture(t)
	gone := "quay.io/org/gone@sha256:" + strings.Repeat("0", 64)
	w.catalog("/cat", "op", map[string]any{
		"image": w.push("quay.io/org/op-bundle", w.image("b0")), "relatedImages": related(gone, gone),
	})
	p := w.makePlan("  operators:\n  - catalog: dir:///cat\n")
	if len(p.Missing) != 1 || p.Missing[0].Source != gone || p.Missing[0].Err() == nil || p.Missing[0].Reasons[0].Bundle != "op.v1.0.0" {
		t.Errorf("missing: %+v", p.Missing)
	}
	// If no image can be read, the error contains the reason.
	_, err := Plan(t.Context(), parseConfig(t, "  additionalImages: [{name: 'quay.io/org/gone:v1'}]\n"), "x", w.sources(), Options{})
	says(t, err, "quay.io/org/gone:v1")
}

func TestPlanBlockedImages(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.image("a"))
	w.push("quay.io/org/b:v1", w.image("b"))
	p := w.makePlan("  additionalImages: [{name: 'quay.io/org/a:v1'}, {name: 'quay.io/org/b:v1', targetRepo: y/two}, {name: 'quay.io/org/b:v1', targetRepo: x/one}, {name: 'quay.io/org/b:v1'}]\n" +
		"  blockedImages: [{name: 'x/one'}, {name: 'y/two'}, {name: 'org/b'}]\n")
	fail.Diff(t, []string{"quay.io/org/a:v1 -> org/a:v1 additional"}, names(p))
	var want []plan.Blocked
	for _, pattern := range []string{"org/b", "x/one", "y/two"} {
		want = append(want, plan.Blocked{Source: "quay.io/org/b:v1", Pattern: pattern, Reasons: []plan.Reason{{List: "additionalImages"}}})
	}
	fail.Diff(t, want, p.Blocked)
}

func TestPlanTargets(t *testing.T) {
	w := newFixture(t)
	a := w.push("quay.io/org/a:v1", w.image("a"))
	p := w.makePlan(`  additionalImages:
  - {name: 'quay.io/org/a:v1', targetRepo: mine/a}
  - {name: 'quay.io/org/a:v1', targetTag: other}
  - {name: '` + a + `', targetRepo: mine/pinned, targetTag: v9}
`)
	want := []string{
		a + " -> mine/pinned:v9 additional",
		"quay.io/org/a:v1 -> mine/a:v1 additional",
		"quay.io/org/a:v1 -> org/a:other additional",
	}
	fail.Diff(t, want, names(p), cmpopts.SortSlices(strings.Compare))
}

func TestPlanTwoCatalogs(t *testing.T) {
	w := newFixture(t)
	x, y := w.push("quay.io/org/x", w.image("x")), w.push("quay.io/org/y", w.image("y"))
	bundle := w.push("quay.io/org/op-bundle", w.image("b0"))
	// T7: a bundle of the same name with other related images.
	w.catalog("/one/cat", "op", map[string]any{"image": bundle, "relatedImages": related(x)})
	w.catalog("/two/cat", "op", map[string]any{"image": bundle, "relatedImages": related(y)})
	p := w.makePlan("  operators:\n  - catalog: dir:///one/cat\n  - catalog: dir:///two/cat\n    targetTag: v2\n")
	got := strings.Join(names(p), "\n")
	for _, want := range []string{x + " -> ", y + " -> ", "dir:///one/cat -> cat:latest", "dir:///two/cat -> cat:v2"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not among\n%s", want, got)
		}
	}
	if p.Catalogs[0].Digest == p.Catalogs[1].Digest || p.Catalogs[1].Tag != "v2" {
		t.Errorf("catalogs: %+v", p.Catalogs)
	}
}

// TestPlanKeepsHostsApart checks that images with the same path and tag on different hosts do not
// overwrite each other.
func TestPlanKeepsHostsApart(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.image("a"))
	w.push("docker.io/org/a:v1", w.image("another a"))
	w.push("ghcr.io/org/a:v1", w.image("a")) // the same image as quay.io's
	pinned := w.push("quay.io/org/p", w.image("p"))
	w.push("docker.io/org/p:v1", w.image("another p"))
	p := w.makePlan("  additionalImages:\n" +
		"  - {name: 'quay.io/org/a:v1'}\n  - {name: 'docker.io/org/a:v1'}\n  - {name: 'ghcr.io/org/a:v1'}\n" +
		"  - {name: '" + strings.Replace(pinned, "@", ":v1@", 1) + "'}\n  - {name: 'docker.io/org/p:v1'}\n")
	at := map[string]string{}
	for _, img := range p.Images {
		at[img.Repository+":"+img.Tags[0]] += img.Digest.String()
	}
	for name, digests := range at {
		if n := len(digests) / 71; n > 1 && strings.Count(digests, digests[:71]) != n {
			t.Errorf("%s is several images: %s", name, digests)
		}
	}
	for _, want := range []string{"docker.io/org/a:v1 -> org/a:v1", "docker.io/org/p:v1 -> org/p:v1", "quay.io/org/a:v1 -> org/a-"} {
		if !strings.Contains(strings.Join(names(p), "\n"), want) {
			t.Errorf("%s is not among %q", want, names(p))
		}
	}
	fail.Diff(t, 3, len(p.Notes))
}

func TestPlanErrors(t *testing.T) {
	w := newFixture(t)
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op-bundle", w.image("b0"))})
	for _, tc := range []struct{ name, text, want string }{
		{"misspelled package", "  operators:\n  - catalog: dir:///cat\n    packages: [{name: opp}]\n", `"op"`},
		{"releases", "  platform:\n    channels: [{name: stable-4.20}]\n", "imageset.yaml:5: no source for platform releases"},
		{"no folder", "  operators:\n  - catalog: dir:///nowhere\n", "imageset.yaml:5"},
		{"no template", "  operators:\n  - catalog: dir:///cat\n    targetCatalogSourceTemplate: no.yaml\n", "imageset.yaml:5: reading targetCatalogSourceTemplate: "},
		{"no template of a ClusterCatalog", "  operators:\n  - catalog: dir:///cat\n    targetClusterCatalogTemplate: no.yaml\n", "imageset.yaml:5: reading targetClusterCatalogTemplate: "},
	} {
		_, err := Plan(t.Context(), parseConfig(t, tc.text), "x", w.sources(), Options{})
		says(t, err, tc.want)
	}
}

// TestPlanTemplates checks that a plan contains the templates, so that their files are not needed again.
func TestPlanTemplates(t *testing.T) {
	w := newFixture(t)
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op-bundle", w.image("b0"))})
	w.texts["cs.yaml"], w.texts["cc.yaml"] = "kind: CatalogSource\n", "kind: ClusterCatalog\n"
	p := w.makePlan("  operators:\n  - catalog: dir:///cat\n    targetCatalogSourceTemplate: cs.yaml\n    targetClusterCatalogTemplate: cc.yaml\n")
	c := p.Catalogs[0]
	got := []string{c.TemplateName, c.Template, c.ClusterCatalogTemplateName, c.ClusterCatalogTemplate}
	fail.Diff(t, []string{"cs.yaml", "kind: CatalogSource\n", "cc.yaml", "kind: ClusterCatalog\n"}, got)
	delete(w.texts, "cs.yaml")
	delete(w.texts, "cc.yaml")
	fail.On(t, RebuildCatalog(t.Context(), c, nil, "", w.sources()))
}

func TestReadRefuses(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.image("a"))
	good := jsonOf(t, w.makePlan("  additionalImages: [{name: 'quay.io/org/a:v1'}]\n"))
	_, err := plan.Read(bytes.NewReader(good))
	fail.On(t, err)
	for name, edit := range map[string][2]string{
		"another kind":        {`"GantryPlan"`, `"Other"`},
		"a newer version":     {`"version": 1`, `"version": 2`},
		"an unknown field":    {`"totals"`, `"totalz"`},
		"an escaping path":    {`"repository": "org/a"`, `"repository": "../a"`},
		"no such tag":         {`"v1"`, `"v 1"`},
		"text after it":       {"\n}\n", "\n}\n{}"},
		"a negative size":     {`"size": `, `"size": -`},
		"a digest cut off":    {`sha256:`, `sha256:0`},
		"a manifest left out": {`"digest": "` + "sha256:", `"digest": "sha512:`},
		"a field twice":       {`"name": "imageset",`, `"name": "imageset", "name": "other",`},
		"no list":             {`"blobs": [`, `"blobs": 1, "more": [`},
		"no kind":             {` "kind": "GantryPlan",`, ``},
		"an end cut off":      {"\n}\n", "\n"},
		"a list cut off":      {"\n ]\n}\n", "\n"},
	} {
		text := strings.Replace(string(good), edit[0], edit[1], 1)
		if text == string(good) {
			t.Fatalf("%s: nothing to edit", name)
		}
		if _, err := plan.Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"kind":"GantryPlan","version":1,"name":"x","totals":{"images":0,"manifests":0,"blobs":0,"bytes":0},"images":[],"manifests":[],"blobs":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plan.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		again, err := plan.Read(bytes.NewReader(jsonOf(t, p)))
		fail.On(t, err)
		fail.Diff(t, p, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(plan.Missing{}))
	})
}

// TestPlanUnavailablePlatforms checks that platforms that an image does not have are an error
// before anything is copied. The error lists the platforms that it has.
func TestPlanUnavailablePlatforms(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/multi:v1", w.index("amd64", "s390x", "amd64"))
	w.push("quay.io/org/plain:v1", w.image("plain"))
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op-bundle", w.index("ppc64le"))})
	_, err := Plan(t.Context(), parseConfig(t, `  operators:
  - catalog: dir:///cat
    platforms: [{os: linux, architecture: arm64}]
  additionalImages:
  - name: quay.io/org/multi:v1
    platforms: [{os: linux, architecture: arm64}, {os: windows, architecture: amd64}]
  - name: quay.io/org/plain:v1
    platforms: [{os: linux, architecture: arm64}]
`), "x", w.sources(), Options{})
	if _, ok := errors.AsType[*advice.Error](err); !ok {
		t.Fatalf("Plan = %v, want an advice.Error", err)
	}
	says(t, err, "2 images",
		"imageset.yaml:8: quay.io/org/multi:v1: it has no image for linux/arm64, windows/amd64, only for linux/amd64, linux/s390x",
		"required by op.v1.0.0: it has no image for linux/arm64, only for linux/ppc64le")
}

// TestPlanMissingLayouts checks that a missing layout is an error in the configuration, unlike an
// image that a registry does not have.
func TestPlanMissingLayouts(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.image("a"))
	for _, text := range []string{
		"  additionalImages: [{name: 'quay.io/org/a:v1'}, {name: 'oci://absent'}]\n",
		"  operators: [{catalog: 'oci://absent'}]\n",
	} {
		_, err := Plan(t.Context(), parseConfig(t, text), "x", w.sources(), Options{})
		if _, ok := errors.AsType[*advice.Error](err); !ok || !strings.Contains(err.Error(), "imageset.yaml:4: ") {
			t.Errorf("Plan = %v, want an advice.Error with the position", err)
		}
	}
	says(t, inputProblems([]resolvedImage{{request: &imageRequest{}, err: &localError{advice.New(advice.Input, "name one", "it has 2 images")}}}), "it has 2 images; name one")
}

// TestReadChecksSizes checks that the sizes in a plan must match its content, because users rely on
// them.
func TestReadChecksSizes(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.index("amd64", "arm64"))
	w.push("quay.io/org/b:v1", w.image("base", "b"))
	for _, tc := range map[string]struct {
		alter func(*plan.Plan)
		words string
	}{
		"image":    {func(p *plan.Plan) { p.Images[0].Size++ }, "quay.io/org/a:v1: its size is"},
		"blob":     {func(p *plan.Plan) { p.Blobs[0].Size++ }, "its size is"},
		"manifest": {func(p *plan.Plan) { p.Manifests[0].Size++ }, "its size is"},
		"bytes":    {func(p *plan.Plan) { p.Totals.Bytes-- }, "its totals are"},
		"images":   {func(p *plan.Plan) { p.Totals.Images = 7 }, "its totals are 7 images"},
	} {
		p := w.makePlan("  additionalImages: [{name: 'quay.io/org/a:v1'}, {name: 'quay.io/org/b:v1'}]\n")
		tc.alter(p)
		text := jsonOf(t, p)
		_, err := plan.Read(bytes.NewReader(text))
		says(t, err, tc.words, "make it again")
	}
}
