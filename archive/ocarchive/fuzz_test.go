package ocarchive_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/ocarchive"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzOpen opens volumes of oc mirror. No more is read than the volume has.
func FuzzOpen(f *testing.F) {
	d := digest.FromString("x")
	for _, names := range [][]string{
		{"docker/registry/v2/blobs/sha256/" + d.Encoded()[:2] + "/" + d.Encoded() + "/data", "docker/registry/v2/repositories/a/b/_manifests/tags/v1/current/link"},
		{"working-dir/a/../b", "isc_1.yaml"}, {"../x"},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, name := range names {
			fail.On(f, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(d)), Typeflag: tar.TypeReg}))
			_, err := w.Write([]byte(d))
			fail.On(f, err)
		}
		fail.On(f, w.Close())
		f.Add(b.Bytes())
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		fail.On(t, os.WriteFile(filepath.Join(dir, "mirror_000001.tar"), raw, 0o600))
		a, err := ocarchive.Open(dir)
		if err != nil {
			return
		}
		defer a.Close()
		tags, err := a.Tags()
		if err != nil {
			return
		}
		for _, tag := range tags {
			if size, ok := a.Size(tag.Digest); ok && (size < 0 || size > int64(len(raw))) {
				t.Errorf("%s has %d bytes", tag.Digest, size)
			}
			if text, err := a.Manifest(tag.Digest, 1<<20); err == nil && digest.FromBytes(text) != tag.Digest && strings.HasPrefix(tag.Digest.String(), "sha256:") {
				t.Errorf("%s has other bytes", tag.Digest)
			}
		}
		for _, path := range a.Files("") {
			_, _ = a.Text(path) // only read
		}
	})
}
