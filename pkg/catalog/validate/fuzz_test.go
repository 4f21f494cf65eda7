package validate_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzCatalog checks that any text either passes or gives problems, that the result is
// deterministic, and that it is the same for a catalog without text.
func FuzzCatalog(f *testing.F) {
	f.Add(valid)
	f.Add("{schema: olm.bundle, package: p, name: b, properties: [{type: olm.package, value: {version: 1}}, {value: 1}]}")
	f.Add("{schema: olm.channel, package: p, entries: [{name: a, replaces: a, skipRange: '||'}, {name: a, skips: ['']}]}\n---\n{schema: olm.package, name: p}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(text)}}, catalog.Options{})
		if err != nil {
			return
		}
		once, again := validate.Catalog(c), validate.Catalog(c)
		if (once == nil) != (again == nil) || once != nil && once.Error() != again.Error() {
			t.Errorf("got %v, then %v", once, again)
		}
		sameResult(t, fstest.MapFS{"f": {Data: []byte(text)}}, once)
	})
}

func FuzzSkipRange(f *testing.F) {
	for _, r := range []string{"<v1.4.0", ">=5.0.0 <5.1.2 !5.1.0-alpha1", "1.22.8 || >=1.25.0 <1.26.0", "< 24.7.0", "||", ">", "1.x", ""} {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, skipRange string) {
		entry := catalog.Entry{Name: "b", SkipRange: skipRange}
		c := &catalog.Catalog{Packages: []*catalog.Package{{
			Name:           "p",
			Metas:          []*catalog.Meta{{}},
			DefaultChannel: "c",
			Channels:       []*catalog.Channel{{Meta: &catalog.Meta{}, Package: "p", Name: "c", Entries: []catalog.Entry{entry}}},
		}}}
		if validate.Catalog(c) == nil {
			t.Error("an entry without a bundle passes")
		}
	})
}

// FuzzManifest checks that any manifest either passes or gives problems, and that it is refused if
// Kubernetes cannot read it as YAML. As in opm, JSON is not checked.
func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		"", "{}", " {", "kind: ClusterServiceVersion\nspec: {}\n", "a: [", "\tb: c", "- &a [*a]", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
		"---\nkind: Service\n---\n{", "[1", "kind: CustomResourceDefinition\nspec: {versions: [{name: v1}]}", "!!binary x", "? [a]\n: b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := json.Marshal(map[string][]byte{"data": text})
		fail.On(t, err)
		b := &catalog.Bundle{Meta: &catalog.Meta{}, Package: "p", Name: "b", Properties: []catalog.Property{{Type: "olm.bundle.object", Value: value}}}
		c := &catalog.Catalog{Packages: []*catalog.Package{{Name: "p", Metas: []*catalog.Meta{{}}, Bundles: []*catalog.Bundle{b}}}}
		var found *validate.Error
		if !errors.As(validate.Catalog(c), &found) {
			t.Fatal("a bundle without a version passes")
		}
		refused := slices.ContainsFunc(found.Problems, func(p validate.Problem) bool { return p.Rule == validate.BundleProperty })
		if _, err := yaml.YAMLToJSON(text); refused != (err != nil && !strings.HasPrefix(strings.TrimSpace(string(text)), "{")) {
			t.Errorf("%q is refused: %v; read as YAML: %v", text, found, err)
		}
	})
}
