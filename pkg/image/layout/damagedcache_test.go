package layout

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestDamagedCache damages the oci-layout file, as a power failure does. A cache gets another one and keeps its blobs;
// a folder of the user is refused, and the error names the file.
func TestDamagedCache(t *testing.T) {
	whole := []byte(`{"imageLayoutVersion":"1.0.0"}`)
	flipped := bytes.Replace(whole, []byte("0.0"), []byte("0.1"), 1)
	for name, text := range map[string][]byte{"empty": {}, "truncated": whole[:10], "zeros": make([]byte, len(whole)), "a flipped bit": flipped, "missing": nil} {
		t.Run(name, func(t *testing.T) {
			l, dir := newLayout(t)
			blob := describe("content")
			fail.On(t, l.Put(t.Context(), blob, strings.NewReader("content")))
			marker := filepath.Join(dir, "oci-layout")
			if err := os.Mkdir(filepath.Join(dir, "catalogs"), 0o755); err != nil { // which a cache has
				t.Fatal(err)
			}
			err := os.Remove(marker)
			if text != nil {
				err = os.WriteFile(marker, text, 0o644)
			}
			fail.On(t, err)
			want := "oci-layout"
			if text == nil {
				want = "contains catalogs"
			}
			if _, err := Create(dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Create = %v", err)
			}
			again, err := Create(dir, Options{NoSync: true})
			fail.On(t, err)
			fail.On(t, again.Check(t.Context(), blob, nil))
			if have, err := os.ReadFile(marker); err != nil || !bytes.Equal(have, whole) {
				t.Errorf("oci-layout is %q, %v", have, err)
			}
		})
	}
}
