package archive

import (
	"archive/tar"
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

func TestPreludeIsTar(t *testing.T) {
	long := layout.BlobPath(digest.SHA512.FromString("x"))
	for _, tc := range []struct {
		path string
		size int64
	}{
		{"oci-layout", 30}, {layout.BlobPath(digest.FromString("x")), 0}, {"a", maxOctal - 1}, {"a", maxOctal}, {"a", 1 << 50},
		{strings.Repeat("p", 100), 1}, {strings.Repeat("p", 101), 1}, {long, 5}, {long, maxOctal},
	} {
		raw := tarHeader(tc.path, tc.size)
		if len(raw)%blockSize != 0 || len(raw) > maxTarHeader {
			t.Errorf("%s: %d bytes", tc.path, len(raw))
		}
		h, err := tar.NewReader(bytes.NewReader(raw)).Next()
		if err != nil {
			t.Errorf("%s of %d bytes: %v", tc.path, tc.size, err)
			continue
		}
		if h.Name != tc.path || h.Size != tc.size || h.Mode != 0o644 || h.Typeflag != tar.TypeReg || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s of %d bytes is read as %+v", tc.path, tc.size, h)
		}
	}
}

// extract extracts all volumes of a folder to a new folder.
func extract(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	volumes, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	fail.On(t, err)
	for _, v := range volumes {
		if out, err := run(t, to, "tar", "xf", v); err != nil || out != "" {
			t.Fatalf("tar xf %s: %v\n%s", v, err, out)
		}
	}
	return to
}
