package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzRead reads archives of charts: files of a tar archive, and any bytes as one. An accepted chart has a name and a version
// that make a tag.
func FuzzRead(f *testing.F) {
	f.Add("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0+a\n", []byte(nil))
	f.Add("../Chart.yaml", "name: a", []byte("\x1f\x8b"))
	f.Add("C:\\x", "", []byte(nil))
	z := gzip.NewWriter(nil)
	f.Fuzz(func(t *testing.T, name, text string, raw []byte) {
		if len(raw) == 0 {
			var b bytes.Buffer
			z.Reset(&b)
			w := tar.NewWriter(z)
			if w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Typeflag: tar.TypeReg}) != nil {
				return // no header has this name
			}
			_, err := w.Write([]byte(text))
			fail.On(t, err)
			fail.On(t, w.Close())
			fail.On(t, z.Close())
			raw = b.Bytes()
		}
		c, err := chart.Read(raw)
		if err != nil {
			return
		}
		if c.Name == "" || c.Version == "" || chart.CheckVersion(c.Name, c.Version) != nil || chart.VersionOf(chart.Tag(c.Version)) != c.Version {
			t.Errorf("accepted %q %q", c.Name, c.Version)
		}
	})
}
