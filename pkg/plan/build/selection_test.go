package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// need adds a dependency on a package to the last bundle of a dir:// catalog.
func (w *fixture) need(dir, pkg string) {
	w.t.Helper()
	fsys := w.files[dir].(fstest.MapFS)
	before := fsys["catalog.json"].Data
	at := bytes.LastIndex(before, []byte(`"properties":[`)) + len(`"properties":[`)
	property := `{"type":"olm.package.required","value":{"packageName":"` + pkg + `","versionRange":">=1.0.0"}},`
	fsys["catalog.json"] = &fstest.MapFile{Data: slices.Concat(before[:at], []byte(property), before[at:])}
}

// needy returns a fixture with two catalogs: a package of one depends on a package of the other, of
// which only an unrelated package is selected.
func needy(t *testing.T) *fixture {
	w := newFixture(t)
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

// TestTextIsPacked checks that the text of bundles is not kept as it is: a whole index has hundreds
// of megabytes.
func TestTextIsPacked(t *testing.T) {
	w := needy(t)
	s, err := Select(t.Context(), parseConfig(t, "  operators: [{catalog: 'dir:///asks'}, {catalog: 'dir:///gives', full: true}]\n"), w.sources(), Options{})
	fail.On(t, err)
	for _, c := range s.Catalogs {
		for _, p := range slices.Concat(c.Original.Packages, c.Result.Catalog.Packages) {
			for _, b := range p.Bundles {
				if b.Meta.Raw != nil || b.Meta.Packed == nil {
					t.Errorf("%s: the text of bundle %s is not packed", c.Catalog.Name(), b.Name)
				}
			}
		}
	}
}

// TestInstalledDependency checks that a plan with an installed operator that is only a dependency,
// of a package that the configuration does not list, can be read and rebuilt.
func TestInstalledDependency(t *testing.T) {
	w := needy(t)
	runs := installed.Operator{Package: "dep", Bundle: "dep.v1.0.0"}
	p, err := Plan(t.Context(), parseConfig(t, needyText), "imageset", w.sources(), Options{Installed: []installed.Operator{runs}})
	fail.On(t, err)
	p = reread(t, p)
	for _, c := range p.Catalogs {
		if err := RebuildCatalog(t.Context(), c, nil, "", w.sources()); err != nil {
			t.Errorf("building %s again: %v", c.Source, err)
		}
	}
	_, err = Reselect(t.Context(), p, w.sources(), Options{})
	fail.On(t, err)
	kept := map[string]string{}
	for _, b := range p.Catalogs[1].Packages[0].Channels[0].Bundles {
		kept[b.Name] = b.Reason
	}
	want := map[string]string{"dep.v1.0.0": "installed", "dep.v1.1.0": "installed", "dep.v1.2.0": "dependency"}
	fail.Diff(t, want, kept)
	for _, note := range p.Notes {
		if strings.Contains(note, "not mirrored") {
			t.Errorf("note: %s", note)
		}
	}
}

func TestInstalledWithoutCatalogIsNoted(t *testing.T) {
	w := needy(t)
	runs := installed.Operator{Package: "gone", Bundle: "gone.v1.0.0"}
	s, err := Select(t.Context(), parseConfig(t, needyText), w.sources(), Options{Installed: []installed.Operator{runs}})
	fail.On(t, err)
	noted(t, s.Notes, "gone belongs to a package that is not mirrored")
}

// TestSelectMatchesPlan checks that Select and Reselect select the same packages as Plan.
func TestSelectMatchesPlan(t *testing.T) {
	w := needy(t)
	p := w.makePlan(needyText)
	s, err := Select(t.Context(), parseConfig(t, needyText), w.sources(), Options{})
	fail.On(t, err)
	again, err := Reselect(t.Context(), p, w.sources(), Options{})
	fail.On(t, err)
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

// TestReselectOfChangedFolder checks that Reselect notices a changed folder. Folders have no
// digest, so it compares the selection.
func TestReselectOfChangedFolder(t *testing.T) {
	w := needy(t)
	p := w.makePlan(needyText)
	w.catalog("/gives", "other", map[string]any{"image": "quay.io/org/bundles:a"}, map[string]any{"image": "quay.io/org/bundles:b"})
	w.files["/gives"].(fstest.MapFS)["dep.json"] = needy(t).files["/gives"].(fstest.MapFS)["dep.json"]
	if _, err := Reselect(t.Context(), p, w.sources(), Options{}); !errors.Is(err, errChanged) {
		t.Errorf("of a changed folder: %v", err)
	}
}

// TestSelectionHasNoPositions checks that a plan contains no file positions of its configuration.
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

// TestSelectOnly checks that Options.Packages limits what is read of a catalog without a package
// list, and does not change the result.
func TestSelectOnly(t *testing.T) {
	w := needy(t)
	const text = "  operators:\n  - catalog: dir:///gives\n  - catalog: dir:///asks\n    packages: [{name: op}]\n"
	p := w.makePlan(text)
	for _, pkg := range []string{"dep", "none"} {
		opts := Options{Packages: func(name string) bool { return name == pkg }}
		s, err := Select(t.Context(), parseConfig(t, text), w.sources(), opts)
		fail.On(t, err)
		again, err := Reselect(t.Context(), p, w.sources(), opts)
		fail.On(t, err)
		for _, s := range []*Selection{s, again} {
			var names []string
			for _, p := range s.Catalogs[0].Result.Packages {
				names = append(names, p.Name)
			}
			if want := slices.DeleteFunc([]string{pkg}, func(name string) bool { return name == "none" }); !slices.Equal(names, want) {
				t.Errorf("packages %s: %q", pkg, names)
			}
			if len(s.Catalogs[1].Result.Packages) != 1 {
				t.Errorf("packages %s: %d packages of those listed", pkg, len(s.Catalogs[1].Result.Packages))
			}
		}
		if pkg == "dep" {
			fail.Diff(t, p.Catalogs[0].Packages[:1], s.Catalogs[0].Catalog.Packages)
		}
	}
}

func TestBundleIsNoCatalog(t *testing.T) {
	w := newFixture(t)
	w.files["/bundle"] = fstest.MapFS{"manifests/a.yaml": {}, "metadata/annotations.yaml": {}}
	_, err := Select(t.Context(), parseConfig(t, "  operators: [{catalog: 'dir:///bundle'}]\n"), w.sources(), Options{})
	var input *advice.Error
	if !errors.As(err, &input) || !errors.Is(err, image.ErrBundle) {
		t.Error(err)
	}
}
