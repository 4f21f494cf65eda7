package registrytest

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

var update = flag.Bool("update", false, "write testdata/sample anew")

// pinned is the folder with the rendered sample, which tests of all packages read.
const pinned = "../../testdata/sample"

// once makes the sample for all tests of the package, which do not change it.
var once = sync.OnceValues(NewSample)

func newSample(t *testing.T) *Sample {
	t.Helper()
	s, err := once()
	fail.On(t, err)
	return s
}

// TestSampleIsPinned checks that the sample is the same on every machine and with every Go release:
// that its catalogs, digests and configuration are those in testdata/sample.
func TestSampleIsPinned(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	want := map[string]string{}
	var digests strings.Builder
	for _, ref := range s.References() {
		h, err := s.Content(ref).Digest()
		fail.On(t, err)
		fmt.Fprintf(&digests, "%s %s\n", ref, h)
	}
	want["digests.txt"] = digests.String()
	imageSet, err := sampleFiles.ReadFile("sample/imageset.yaml")
	fail.On(t, err)
	want["imageset.yaml"] = string(imageSet)
	for dir, ref := range sampleCatalogs {
		for name, text := range readTree(t, s.Catalogs[ref]) {
			want["catalogs/"+dir+"/"+name] = text
		}
	}
	if *update {
		writeTree(t, pinned, want)
	}
	fail.Diff(t, want, readTree(t, os.DirFS(pinned)))
}

func readTree(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		files[name] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	fail.On(t, os.RemoveAll(dir))
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		fail.On(t, os.MkdirAll(filepath.Dir(file), 0o755))
		fail.On(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

// TestSampleIsComplete checks that every image that the sample's catalogs name can be pulled, and
// that VerifyCatalog reports an image that was removed.
func TestSampleIsComplete(t *testing.T) {
	t.Parallel()
	sample := newSample(t)
	for _, tc := range servers[:3] {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && tc.o.TLS {
				t.Skip("encrypting the sample takes long; other tests use TLS")
			}
			server := tc.start(t, tc.o)
			c := server.Client()
			fail.On(t, sample.Push(t.Context(), c))
			for _, ref := range sampleCatalogs {
				repository, tag := splitTag(ref)
				v, err := c.VerifyCatalog(t.Context(), repository, tag, hostOf(t, sample))
				fail.On(t, err)
				if len(v.Bundles) < 5 || len(v.Images) < 10 || len(v.Pulled) != len(v.Images) || v.Bytes() < 10<<20 {
					t.Errorf("%s: %d bundles, %d images, %d of them pulled, %d bytes", ref, len(v.Bundles), len(v.Images), len(v.Pulled), v.Bytes())
				}
			}
			server.Script(Rule{Path: "tidewater-bundle/manifests/", Nth: 1, Action: Status(http.StatusNotFound)})
			repository, tag := splitTag(sampleCatalogs["acme"])
			v, err := c.VerifyCatalog(t.Context(), repository, tag, hostOf(t, sample))
			if err == nil || !strings.Contains(err.Error(), "tidewater-bundle") || len(v.Pulled) != len(v.Images)-1 {
				t.Errorf("with one bundle image missing: %v, %d of %d images", err, len(v.Pulled), len(v.Images))
			}
		})
	}
}

// hostOf returns a function that maps a path to the repository of Push, which begins with the host.
func hostOf(t *testing.T, s *Sample) func(string) string {
	t.Helper()
	hosts := map[string]string{}
	for _, s := range s.References() {
		r, err := reference.Parse(s)
		fail.On(t, err)
		hosts[r.Path] = r.Host
	}
	return func(path string) string { return hosts[path] + "/" + path }
}

// TestApplyLayer checks that VerifyCatalog applies whiteouts as a container runtime does.
func TestApplyLayer(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	for _, step := range []struct {
		layer map[string]File
		want  []string
	}{
		{map[string]File{"configs/a/x.yaml": {}, "configs/b.yaml": {}, "etc/passwd": {}}, []string{"configs/a/x.yaml", "configs/b.yaml"}},
		{map[string]File{"configs/.wh.b.yaml": {}, "configs/c.yaml": {}}, []string{"configs/a/x.yaml", "configs/c.yaml"}},
		{map[string]File{"configs/.wh..wh..opq": {}, "configs/d.yaml": {}}, []string{"configs/d.yaml"}},
		{map[string]File{".wh.configs": {}}, nil},
	} {
		fail.On(t, applyLayer(bytes.NewReader(newLayer(step.layer).gzipped), "configs/", files))
		fail.Diff(t, step.want, slices.Sorted(maps.Keys(files)))
	}
}
