package image

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestDamagedLayers reads layers that do not match the config, as from a store that does not
// verify.
func TestDamagedLayers(t *testing.T) {
	object := `{"schema":"a"}`
	kinds := map[string][]header{
		ConfigsLabel:   {{"content/a.json", strings.Repeat(object, 99)}},
		databaseLabel:  {{"content", "SQLite format 3"}},
		manifestsLabel: {{"content/csv.yaml", "kind: ClusterServiceVersion"}},
	}
	damages := map[string]func([]byte) []byte{
		"cut":     func(data []byte) []byte { return data[:len(data)/2] },
		"changed": func(data []byte) []byte { data[len(data)/2] ^= 0x40; return data },
		"empty":   func([]byte) []byte { return nil },
		"another": func([]byte) []byte { return gzipped(t, pack(t, configs)) },
		"no tar":  func([]byte) []byte { return gzipped(t, []byte(strings.Repeat("no tar ", 200))) },
	}
	for label, headers := range kinds {
		for name, damage := range damages {
			m := newMemory()
			img, err := Open(t.Context(), m, "", m.putImage(t, source{
				labels: map[string]string{label: "/content"}, layers: [][]header{headers},
			}.image(t)))
			fail.On(t, err)
			layer := img.image.Platforms[0].Layers[0].Digest
			m.blobs[layer] = damage(bytes.Clone(m.blobs[layer]))

			read := map[Kind]func() error{
				FileBased: func() error {
					_, err := img.Read(t.Context(), catalog.Options{})
					return err
				},
				SQLite: func() error {
					r, err := img.Database(t.Context())
					fail.On(t, err)
					_, err = io.Copy(io.Discard, r)
					fail.On(t, r.Close())
					return err
				},
				Bundle: func() error {
					_, err := img.Files(t.Context())
					return err
				},
			}[img.Kind()]
			if err := read(); err == nil || !strings.Contains(err.Error(), "layer "+layer.String()) {
				t.Errorf("%s, %s: error %v, want one that names the layer", img.Kind(), name, err)
			}
			if img.Kind() == FileBased {
				err := img.Stream(t.Context(), func(*catalog.Meta) error { return nil })
				if err == nil || !strings.Contains(err.Error(), "layer "+layer.String()) {
					t.Errorf("streaming, %s: error %v, want one that names the layer", name, err)
				}
			}
		}
	}
}
