package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// TestListDeepNames checks that a layer which is small when it is compressed cannot fill the memory with names.
func TestListDeepNames(t *testing.T) {
	for name, header := range map[string]func(i int) *tar.Header{
		"files": func(i int) *tar.Header { return &tar.Header{Name: fmt.Sprintf("%06d", i) + strings.Repeat("/a", 2000)} },
		"whiteouts": func(i int) *tar.Header {
			return &tar.Header{Name: fmt.Sprintf("%06d", i) + strings.Repeat("/a", 2000) + "/.wh.a"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for i := range 6_000 {
				h := header(i)
				h.Format = tar.FormatGNU
				fail.On(t, w.WriteHeader(h))
			}
			fail.On(t, w.Close())
			l := Lister{Budget: layers.NewBudget(layers.MaxUnpacked)}
			if _, err := l.List(&b); err == nil || !strings.Contains(err.Error(), "the names in the layers of the image exceed the size limit") {
				t.Errorf("got %.200v", err)
			}
		})
	}
}
