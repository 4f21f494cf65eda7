package image

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestReadBuilt reads the catalog of an image that was built, and nothing but its uppermost layer.
func TestReadBuilt(t *testing.T) {
	const before = `{"schema":"olm.package","name":"old","defaultChannel":"stable"}`
	const after = `{"schema":"olm.package","name":"a","defaultChannel":"stable"}`
	for _, tc := range []struct {
		name   string
		source source
		built  bool
	}{
		{"one layer", source{layers: [][]header{{{"configs/x.json", before}}}}, true},
		{"a base", source{layers: [][]header{base, {{"configs/x.json", before}}, cache}}, true},
		{"a layer with more than the catalog", source{layers: [][]header{{{"configs/x.json", before}, {"etc/release", "8"}}, base}}, true},
		{"without history", source{noHistory: true, layers: [][]header{base, {{"configs/x.json", before}}}}, false},
	} {
		m := newMemory()
		img, err := Open(t.Context(), m, "", m.putImage(t, tc.source.image(t)))
		fail.On(t, err)
		if img.IsBuilt() {
			t.Errorf("%s: the source is built", tc.name)
		}
		_, err = img.Read(t.Context(), catalog.Options{})
		fail.On(t, err)
		c, err := catalog.New([]*catalog.Meta{{Schema: "olm.package", Package: "a", Name: "a", Raw: []byte(after)}})
		fail.On(t, err)
		built, err := Build(t.Context(), m, img, c)
		fail.On(t, err)
		img, err = Open(t.Context(), m, "", built.Root)
		fail.On(t, err)
		if img.IsBuilt() != tc.built {
			t.Errorf("%s: IsBuilt is %t, want %t", tc.name, img.IsBuilt(), tc.built)
		}
		if !tc.built {
			continue
		}
		clear(m.reads)
		got, err := img.ReadBuilt(t.Context(), catalog.Options{})
		fail.On(t, err)
		p := img.image.Primary()
		for n, l := range p.Layers {
			if want := n == len(p.Layers)-1; (m.reads[l.Digest] > 0) != want {
				t.Errorf("%s: layer %d of %d was read %d times", tc.name, n, len(p.Layers), m.reads[l.Digest])
			}
		}
		want, err := img.Read(t.Context(), catalog.Options{})
		fail.On(t, err)
		names := func(c *catalog.Catalog) (all []string) {
			for _, p := range c.Packages {
				all = append(all, p.Name, p.DefaultChannel)
			}
			return all
		}
		if diff := cmp.Diff(names(want), names(got)); diff != "" || !slices.Equal(names(got), []string{"a", "stable"}) {
			t.Errorf("%s (-Read +ReadBuilt):\n%s", tc.name, diff)
		}
	}
}
