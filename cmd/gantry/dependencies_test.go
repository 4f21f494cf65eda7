package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// given returns the flags that add to heads.yaml what closed.yaml contains.
func (w *fixture) given() []string {
	return []string{"--dependencies", "--installed", w.path("csv.json")}
}

// The numbers of bundles that heads.yaml keeps with these flags, by catalog.
const (
	zooClosure   = 6 // otter from 1.0.0 on, without the skipped 1.1.0; heron; pond
	riverClosure = 3 // reed, trout, gravel
)

// kept returns the bundles of a plan as "package channel: bundle reason".
func kept(c plan.Catalog) []string {
	var all []string
	for _, p := range c.Packages {
		for _, ch := range p.Channels {
			for _, b := range ch.Bundles {
				all = append(all, p.Name+" "+ch.Name+": "+b.Name+" "+b.Reason)
			}
		}
	}
	return all
}

func (w *fixture) readPlan(name string) *plan.Plan {
	w.t.Helper()
	p, err := plan.Read(strings.NewReader(w.read(name)))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// TestNeeds checks that dependencies are planned, in two rounds and over two catalogs, and that the
// upgrade paths of installed operators are kept.
func TestNeeds(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	heads := w.path("heads.yaml")
	o := w.must(append([]string{"plan", "-c", heads, "-o", w.path("flags.json"), "--name", "same"}, w.given()...)...)
	w.must("plan", "-c", w.path("closed.yaml"), "-o", w.path("fields.json"), "--name", "same", "--workspace", w.path("other"))
	if diff := cmp.Diff(w.read("fields.json"), w.read("flags.json")); diff != "" {
		t.Errorf("the fields of a configuration and the flags differ (-fields +flags): %s", diff)
	}
	p := w.readPlan("flags.json")
	want := [][]string{
		{
			"heron stable: heron.v2.0.0 head",
			"otter stable: otter.v1.0.0 installed", "otter stable: otter.v1.1.1 installed",
			"otter stable: otter.v1.2.0 installed", "otter stable: otter.v1.3.0 head",
			"pond stable: pond.v1.0.0 dependency",
		},
		{"gravel stable: gravel.v1.0.0 dependency", "reed stable: reed.v1.0.0 head", "trout stable: trout.v0.2.0 dependency"},
	}
	if diff := cmp.Diff(want, [][]string{kept(p.Catalogs[0]), kept(p.Catalogs[1])}); diff != "" {
		t.Errorf("kept, and why: %s", diff)
	}
	required := map[string]string{}
	for _, c := range p.Catalogs {
		for _, r := range c.Required {
			required[r.Bundle] = r.For
		}
	}
	for bundle, asker := range map[string]string{"pond.v1.0.0": "heron.v2.0.0", "trout.v0.2.0": "heron.v2.0.0", "gravel.v1.0.0": "trout.v0.2.0"} {
		if !strings.Contains(required[bundle], asker) {
			t.Errorf("%s is required by %q, want %s", bundle, required[bundle], asker)
		}
		if !slices.ContainsFunc(slices.Concat(p.Catalogs[0].Packages, p.Catalogs[1].Packages), func(p plan.Package) bool {
			b := p.Channels[0].Bundles[0]
			return b.Name == bundle && strings.Contains(b.For, asker)
		}) {
			t.Errorf("%s does not name %s as its reason", bundle, asker)
		}
	}
	for _, word := range []string{"dependency", "installed", "gravel"} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("the table lacks %q:\n%s", word, o.stdout)
		}
	}
	// Every image has a reason, and each added bundle adds its images.
	for _, repository := range []string{"river/trout-bundle", "river/trout", "river/gravel-bundle", "river/gravel", "zoo/pond-bundle"} {
		if !slices.ContainsFunc(p.Images, func(img plan.Image) bool { return img.Repository == repository && len(img.Reasons) > 0 }) {
			t.Errorf("no image of %s is planned", repository)
		}
	}
	for _, img := range p.Images {
		for _, no := range []string{"pike", "vole"} {
			if strings.Contains(img.Repository, no) {
				t.Errorf("%s is planned, but not required", img.Source)
			}
		}
	}
	// Without an installed otter, the required otter is kept as a dependency, with the bundles that
	// keep its channel continuous.
	w.must("plan", "-c", heads, "-o", w.path("needs.json"), "--dependencies", "--workspace", w.path("other"))
	want[0][1], want[0] = "otter stable: otter.v1.1.1 dependency", slices.Delete(want[0], 2, 3)
	want[0][2] = "otter stable: otter.v1.2.0 continuity"
	if diff := cmp.Diff(want[0], kept(w.readPlan("needs.json").Catalogs[0])); diff != "" {
		t.Errorf("with dependencies alone, kept, and why: %s", diff)
	}
	// Without the flags, no bundles are added, and missing requirements are not reported.
	w.must("plan", "-c", heads, "-o", w.path("heads.json"), "--workspace", w.path("other"))
	if got := w.readPlan("heads.json"); len(got.Catalogs[0].Required) > 0 || len(kept(got.Catalogs[0])) != 2 {
		t.Errorf("without the flags, kept %v", kept(got.Catalogs[0]))
	}
}

// TestNeedsBothDirections checks that mirroring directly, with an archive and from the plan gives
// the same complete catalogs.
func TestNeedsBothDirections(t *testing.T) {
	t.Parallel()
	long(t)
	w := newCatalogFixture(t)
	heads, disk, lock := w.path("heads.yaml"), "file://"+w.path("disk"), w.path("plan.json")
	w.must(append([]string{"mirror", "-c", heads, w.docker("/direct")}, w.given()...)...)
	w.must(append([]string{"plan", "-c", heads, "-o", lock}, w.given()...)...)
	w.must(append([]string{"mirror", "-c", heads, disk}, w.given()...)...)
	w.source.ResetLog()
	w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far"))
	if n := len(w.source.Log()); n > 0 {
		t.Errorf("the disconnected side sent %d requests to the source", n)
	}
	// A workspace that has never seen the catalogs builds them again.
	w.must("mirror", "--plan", lock, w.docker("/planned"), "--workspace", w.path("third"))

	for _, c := range []struct {
		name    string
		bundles int
	}{{zoo, zooClosure}, {river, riverClosure}} {
		direct := w.verify("direct", c.name, c.bundles)
		for _, prefix := range []string{"carried", "planned"} {
			if got := w.verify(prefix, c.name, c.bundles); got.Catalog.Digest != direct.Catalog.Digest {
				t.Errorf("%s: catalog %s is %s, directly it is %s", prefix, c.name, got.Catalog.Digest, direct.Catalog.Digest)
			}
		}
		w.must("catalog", "validate", w.mirror.Host+"/carried/"+c.name+":v4.20")
	}
	w.must(append([]string{"verify", "-c", heads, w.docker("/carried")}, w.given()...)...)
	w.must("verify", "--plan", lock, w.docker("/direct"))
	w.must("verify", "--from", disk, w.docker("/planned"))
	if o := w.must(append([]string{"mirror", "-c", heads, w.docker("/direct")}, w.given()...)...); !strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("a second run prints\n%s", o.stdout)
	}
	// Without the flags the catalog differs, and verify detects it.
	w.refuse(exitMismatch, []string{"not in the mirror as planned"}, "verify", "-c", heads, w.docker("/direct"))
}

// TestNeedsAfterSourceChanged checks that a plan can be carried out after its source changed: the
// planned catalogs are built again from the digests in the plan.
func TestNeedsAfterSourceChanged(t *testing.T) {
	t.Parallel()
	long(t)
	w := newCatalogFixture(t)
	lock := w.path("plan.json")
	w.must(append([]string{"plan", "-c", w.path("heads.yaml"), "-o", lock}, w.given()...)...)
	planned := w.readPlan("plan.json")
	w.push(riverRef, mirrortest.FileImage(t, v1.Config{Labels: map[string]string{image.ConfigsLabel: "/configs"}}, map[string]string{"configs/reed.yaml": w.read("river/reed.yaml")}))
	w.must("mirror", "--plan", lock, w.docker("/moved"), "--workspace", w.path("fresh"))
	for i, name := range []string{zoo, river} {
		if v := w.verify("moved", name, []int{zooClosure, riverClosure}[i]); v.Catalog.Digest != planned.Catalogs[i].Digest {
			t.Errorf("catalog %s is %s, want %s", name, v.Catalog.Digest, planned.Catalogs[i].Digest)
		}
	}
	// check --plan also uses the catalogs as planned.
	if o := w.must("check", "--plan", lock, "--installed", w.path("csv.json"), "--workspace", w.path("asked")); !strings.Contains(o.stdout, "-> otter.v1.3.0") {
		t.Errorf("check --plan prints\n%s", o.stdout)
	}
	// A new plan uses the current source and lists requirements that no operator provides.
	o := w.must(append([]string{"plan", "-c", w.path("heads.yaml"), "--workspace", w.path("fresh")}, w.given()...)...)
	if !strings.Contains(o.stdout, "needs an operator that provides river.example.com/v1 Fish") {
		t.Errorf("the missing requirement is not printed:\n%s", o.stdout)
	}
}

// TestInstalledOnAnotherCluster checks that the plan notes an installed operator that is in no
// catalog, and an installed version that its package never had.
func TestInstalledOnAnotherCluster(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	csv := func(name, pkg, version string) map[string]any {
		return map[string]any{
			"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
			"metadata": map[string]any{"name": name, "namespace": "wild", "labels": map[string]any{"operators.coreos.com/" + pkg + ".wild": ""}},
			"spec":     map[string]any{"version": version}, "status": map[string]any{"phase": "Succeeded"},
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{csv("badger.v1.0.0", "badger", "1.0.0"), csv("otter.v0.9.0", "otter", "0.9.0")}})
	if err != nil {
		t.Fatal(err)
	}
	clusters := w.write("clusters.json", string(text))
	o := w.must("plan", "-c", w.path("heads.yaml"), "--installed", clusters)
	for _, word := range []string{"the installed operator badger", "otter.v0.9.0", filepath.Base(clusters)} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("the plan does not contain %q:\n%s", word, o.stdout)
		}
	}
	w.refuse(exitUsage, []string{"--installed", "heads.yaml"}, "plan", "-c", w.path("heads.yaml"), "--installed", w.path("heads.yaml"))
	w.refuse(exitUsage, []string{"--installed", "no such file"}, "plan", "-c", w.path("heads.yaml"), "--installed", w.path("absent.json"))
	w.refuse(exitUsage, []string{"--dependencies"}, "mirror", "--plan", w.path("plan.json"), "--dependencies", w.docker(""))
}
