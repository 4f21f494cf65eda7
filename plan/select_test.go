package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// need makes the last bundle of a dir:// catalog ask for a package.
func (w *world) need(dir, pkg string) {
	w.t.Helper()
	fsys := w.files[dir].(fstest.MapFS)
	before := fsys["catalog.json"].Data
	at := bytes.LastIndex(before, []byte(`"properties":[`)) + len(`"properties":[`)
	property := `{"type":"olm.package.required","value":{"packageName":"` + pkg + `","versionRange":">=1.0.0"}},`
	fsys["catalog.json"] = &fstest.MapFile{Data: slices.Concat(before[:at], []byte(property), before[at:])}
}

// needy is a catalog whose package asks for one of another, of which only an
// unrelated package was chosen.
func needy(t *testing.T) *world {
	w := newWorld(t)
	bundle := func(name string) map[string]any {
		return map[string]any{"image": w.push("quay.io/org/bundles", w.image(name))}
	}
	w.catalog("/asks", "op", bundle("op"))
	w.need("/asks", "dep")
	w.catalog("/gives", "dep", bundle("dep0"), bundle("dep1"), bundle("dep2"))
	dep := w.files["/gives"].(fstest.MapFS)["catalog.json"]
	w.catalog("/gives", "other", bundle("other"))
	w.files["/gives"].(fstest.MapFS)["dep.json"] = dep
	return w
}

const needyText = "  operators:\n  - catalog: dir:///asks\n    dependencies: true\n    packages: [{name: op}]\n" +
	"  - catalog: dir:///gives\n    packages: [{name: other}]\n"

// What others need may be of a package that the configuration does not name, and
// clusters may run it: the plan has to say so in a way that it can be read by.
func TestADependencyThatIsInstalled(t *testing.T) {
	w := needy(t)
	runs := imageset.Installed{Package: "dep", Bundle: "dep.v1.0.0", Pos: imageset.Position{File: "csv.json"}}
	p, err := Make(t.Context(), parseConfig(t, needyText), "imageset", w.from(), Options{Installed: []imageset.Installed{runs}})
	if err != nil {
		t.Fatal(err)
	}
	text := jsonOf(t, p)
	if p, err = Read(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Catalogs {
		if err := Rebuild(t.Context(), c, w.from()); err != nil {
			t.Errorf("building %s again: %v", c.Source, err)
		}
	}
	if _, err := SelectAgain(t.Context(), p, w.from(), Options{}); err != nil {
		t.Error(err)
	}
	kept := map[string]string{}
	for _, b := range p.Catalogs[1].Packages[0].Channels[0].Bundles {
		kept[b.Name] = b.Reason
	}
	want := map[string]string{"dep.v1.0.0": "installed", "dep.v1.1.0": "installed", "dep.v1.2.0": "dependency"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept: %s", diff)
	}
	for _, note := range p.Notes {
		if strings.Contains(note, "not mirrored") {
			t.Errorf("note: %s", note)
		}
	}
}

func TestInstalledOfNoCatalogIsNoted(t *testing.T) {
	w := needy(t)
	runs := imageset.Installed{Package: "gone", Bundle: "gone.v1.0.0", Pos: imageset.Position{File: "csv.json"}}
	s, err := Select(t.Context(), parseConfig(t, needyText), w.from(), Options{Installed: []imageset.Installed{runs}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.Notes, func(note string) bool { return strings.Contains(note, "gone is of a package that is not mirrored") }) {
		t.Errorf("notes: %q", s.Notes)
	}
}

// Select keeps what Make keeps, and SelectAgain what the plan has.
func TestSelectIsWhatMakeKeeps(t *testing.T) {
	w := needy(t)
	p := w.makePlan(needyText)
	s, err := Select(t.Context(), parseConfig(t, needyText), w.from(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := SelectAgain(t.Context(), p, w.from(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range p.Catalogs {
		if diff := cmp.Diff(c.Packages, s.Catalogs[i].Catalog.Packages); diff != "" {
			t.Errorf("selected of %s: %s", c.Source, diff)
		}
		var names []string
		for _, p := range again.Catalogs[i].Result.Packages {
			names = append(names, p.Name)
		}
		var want []string
		for _, p := range c.Packages {
			want = append(want, p.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("selected again of %s: %s", c.Source, diff)
		}
	}
}

// A folder has no digest: that it is another now shows in what is kept of it.
func TestSelectAgainWantsTheSameCatalog(t *testing.T) {
	w := needy(t)
	p := w.makePlan(needyText)
	w.catalog("/gives", "other", map[string]any{"image": "quay.io/org/bundles:a"}, map[string]any{"image": "quay.io/org/bundles:b"})
	w.files["/gives"].(fstest.MapFS)["dep.json"] = needy(t).files["/gives"].(fstest.MapFS)["dep.json"]
	if _, err := SelectAgain(t.Context(), p, w.from(), Options{}); !errors.Is(err, errChanged) {
		t.Errorf("of a folder that changed: %v", err)
	}
}

// A plan says of no machine's files where its selection stood.
func TestSelectionHasNoPositions(t *testing.T) {
	w := needy(t)
	for _, c := range w.makePlan(needyText).Catalogs {
		var selection map[string]any
		if err := json.Unmarshal(c.Selection, &selection); err != nil || selection["catalog"] != c.Source {
			t.Errorf("%s: %v", c.Selection, err)
		}
		if strings.Contains(string(c.Selection), "imageset.yaml") {
			t.Errorf("%s names a file", c.Selection)
		}
	}
}

// Of a catalog that is taken whole only what is asked about is read, and what is
// kept of it is the same.
func TestSelectOnly(t *testing.T) {
	w := needy(t)
	const text = "  operators:\n  - catalog: dir:///gives\n  - catalog: dir:///asks\n    packages: [{name: op}]\n"
	p := w.makePlan(text)
	for _, pkg := range []string{"dep", "none"} {
		opts := Options{Only: func(name string) bool { return name == pkg }}
		s, err := Select(t.Context(), parseConfig(t, text), w.from(), opts)
		if err != nil {
			t.Fatal(err)
		}
		again, err := SelectAgain(t.Context(), p, w.from(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Selection{s, again} {
			var names []string
			for _, p := range s.Catalogs[0].Result.Packages {
				names = append(names, p.Name)
			}
			if want := slices.DeleteFunc([]string{pkg}, func(name string) bool { return name == "none" }); !slices.Equal(names, want) {
				t.Errorf("asked about %s: %q", pkg, names)
			}
			if len(s.Catalogs[1].Result.Packages) != 1 {
				t.Errorf("asked about %s: %d packages of those listed", pkg, len(s.Catalogs[1].Result.Packages))
			}
		}
		if pkg == "dep" {
			if diff := cmp.Diff(p.Catalogs[0].Packages[:1], s.Catalogs[0].Catalog.Packages); diff != "" {
				t.Errorf("kept: %s", diff)
			}
		}
	}
}

func TestABundleIsNoCatalog(t *testing.T) {
	w := newWorld(t)
	w.files["/bundle"] = fstest.MapFS{"manifests/a.yaml": {}, "metadata/annotations.yaml": {}}
	_, err := Select(t.Context(), parseConfig(t, "  operators: [{catalog: 'dir:///bundle'}]\n"), w.from(), Options{})
	var input *InputError
	if !errors.As(err, &input) || !errors.Is(err, image.ErrBundle) {
		t.Error(err)
	}
}
