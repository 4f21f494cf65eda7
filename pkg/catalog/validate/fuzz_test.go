package validate_test

import (
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
)

// FuzzCatalog holds that no text makes the rules fail in another way than by
// saying so, and that they say the same twice, and of a catalog without text.
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
		sameJudged(t, fstest.MapFS{"f": {Data: []byte(text)}}, once)
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
