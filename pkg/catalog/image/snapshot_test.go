package image

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/snapshot"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestSnapshot builds an image twice: after reading another one, and from a snapshot of that
// without reading a layer.
func TestSnapshot(t *testing.T) {
	m := newMemory()
	root := m.putImage(t, source{entrypoint: []string{"/bin/opm"}, cmd: opmServe, layers: [][]header{
		base, cache, {
			{"configs/a/catalog.json", `{"schema":"olm.package","name":"a"}` + "\n" + `{"schema":"olm.channel","package":"a","name":"stable"}`},
			{"configs/b/catalog.yaml", "schema: olm.package\nname: b\n"},
		},
	}}.image(t))
	options := catalog.Options{Keep: func(name string) bool { return name == "a" }, Outline: true}
	img, err := Open(t.Context(), m, "", root)
	fail.On(t, err)
	c, err := img.Read(t.Context(), options)
	fail.On(t, err)
	want, err := Build(t.Context(), m, img, c)
	fail.On(t, err)
	facts, err := img.Facts()
	fail.On(t, err)
	var file bytes.Buffer
	fail.On(t, snapshot.Write(&file, snapshot.Content{Root: root.Digest, Catalog: c, Options: options, Facts: facts}))

	clear(m.reads)
	s, err := snapshot.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), root.Digest)
	fail.On(t, err)
	img, err = Open(t.Context(), m, "", root)
	fail.On(t, err)
	fail.On(t, img.Restore(s.Facts()))
	again, err := s.Catalog(options)
	fail.On(t, err)
	fail.Diff(t, c.Outlines, again.Outlines, cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) }))
	got, err := Build(t.Context(), m, img, again)
	fail.On(t, err)
	fail.Diff(t, want, got)
	for _, l := range img.Layers() {
		if m.reads[l.Descriptor.Digest] > 0 {
			t.Errorf("layer %s was read", l.Descriptor.Digest)
		}
	}
}
