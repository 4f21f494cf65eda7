package image

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

func TestOpenKinds(t *testing.T) {
	tests := []struct {
		name   string
		labels map[string]string
		kind   Kind // 0 for an error
		read   error
	}{
		{"file-based", map[string]string{ConfigsLabel: "/configs"}, FileBased, nil},
		{"SQLite", map[string]string{databaseLabel: "/database/index.db"}, SQLite, ErrSQLite},
		{"bundle", map[string]string{bundleLabel: "etcd"}, Bundle, ErrBundle},
		{"bundle without a package", map[string]string{manifestsLabel: "manifests/"}, Bundle, ErrBundle},
		{"any other", map[string]string{"vendor": "x"}, 0, nil},
		{"none", map[string]string{}, 0, nil},
		{"both kinds of catalog", map[string]string{databaseLabel: "/database/index.db", ConfigsLabel: "/configs"}, FileBased, nil},
	}
	object := []header{{"configs/a.json", `{"schema":"a"}`}}
	for _, test := range tests {
		m := newMemory()
		img, err := Open(t.Context(), m, "", m.putImage(t, source{labels: test.labels, layers: [][]header{object}}.image(t)))
		if test.kind == 0 {
			if !errors.Is(err, ErrNoCatalog) {
				t.Errorf("%s: error %v", test.name, err)
			}
			continue
		}
		fail.On(t, err)
		if img.Kind() != test.kind {
			t.Errorf("%s: it is a %s", test.name, img.Kind())
		}
		if (img.Directory() != "") != (test.kind == FileBased) {
			t.Errorf("%s: directory %q", test.name, img.Directory())
		}
		_, err = img.Read(t.Context(), catalog.Options{})
		if !errors.Is(err, test.read) {
			t.Errorf("%s: reading: error %v", test.name, err)
		}
		err = img.Stream(t.Context(), func(*catalog.Meta) error { return nil })
		if !errors.Is(err, test.read) {
			t.Errorf("%s: streaming: error %v", test.name, err)
		}
		_, err = Build(t.Context(), m, img, &catalog.Catalog{})
		if !errors.Is(err, test.read) {
			t.Errorf("%s: building: error %v", test.name, err)
		}
		if db, err := img.Database(t.Context()); (err == nil) != (test.kind == SQLite) {
			t.Errorf("%s: database: error %v", test.name, err)
		} else if err == nil {
			fail.On(t, db.Close())
		}
		if _, err := img.Files(t.Context()); err == nil || strings.Contains(err.Error(), "is a ") != (test.kind != Bundle) {
			t.Errorf("%s: files: error %v", test.name, err)
		}
	}
}

func TestOpenLabels(t *testing.T) {
	tests := []struct {
		name     string
		one, two string
		want     string
	}{
		{"different", "/configs", "/other", `"/configs" for linux/amd64, "/other" for linux/arm64`},
		{"the root", "/", "/", "needs its own directory"},
		{"upwards", "/configs/../..", "/configs/../..", "points upwards"},
	}
	for _, test := range tests {
		m := newMemory()
		_, err := Open(t.Context(), m, "", m.putIndex(t, index(t,
			source{arch: "amd64", label: test.one, layers: [][]header{configs}},
			source{arch: "arm64", label: test.two, layers: [][]header{configs}},
		)))
		says(t, err, test.want)
	}
}

func TestOpenManifests(t *testing.T) {
	d := digestOf("x")
	line := `{"mediaType":"` + ocispec.MediaTypeImageManifest + `","digest":"` + string(d) + `","size":3}`
	tests := []struct {
		name, mediaType, data, want string
	}{
		{"no JSON", ocispec.MediaTypeImageIndex, "<html>", "reading the manifest"},
		{"null", ocispec.MediaTypeImageIndex, "null", "null"},
		{"manifests and layers", ocispec.MediaTypeImageIndex, `{"manifests":[],"layers":[]}`, "both manifests and layers"},
		{"two media types", ocispec.MediaTypeImageIndex, `{"mediaType":"` + manifest.DockerList + `","manifests":[]}`, "but its descriptor has"},
		{"nothing in it", ocispec.MediaTypeImageIndex, `{"manifests":[]}`, "no image that runs"},
		{"wrong shape", ocispec.MediaTypeImageIndex, `{"manifests":{}}`, `"manifests"`},
		{"missing child", ocispec.MediaTypeImageIndex, `{"manifests":[` + line + `]}`, "no blob " + string(d)},
		{"schema 1", "application/vnd.docker.distribution.manifest.v1+json", `{}`, "not a container image"},
		{"artifact", ocispec.MediaTypeImageManifest, `{"config":{"mediaType":"application/vnd.example"}}`, "artifact"},
		{"too large", ocispec.MediaTypeImageManifest, `"` + strings.Repeat("x", manifest.MaxSize) + `"`, "8388610 bytes"},
	}
	for _, test := range tests {
		m := newMemory()
		_, err := Open(t.Context(), m, "", m.put(test.mediaType, []byte(test.data)))
		says(t, err, test.want)
		desc := m.put("", []byte(test.data))
		desc.Size = 0 // a source that does not know sizes
		if _, err := Open(t.Context(), m, "", desc); err == nil {
			t.Errorf("%s: it was opened", test.name)
		}
	}
}

// TestOpenWithoutMediaType opens a descriptor without media type, and skips children of an index
// that are not images.
func TestOpenWithoutMediaType(t *testing.T) {
	m := newMemory()
	ix := mutate.AppendManifests(index(t, source{arch: "amd64", layers: [][]header{configs}}),
		mutate.IndexAddendum{Add: mutate.ConfigMediaType(source{layers: [][]header{base}}.image(t), "application/vnd.example")})
	root := m.putIndex(t, ix)
	root.MediaType = ""
	img, err := Open(t.Context(), m, "", root)
	fail.On(t, err)
	if len(img.image.Platforms) != 1 || img.image.Root.MediaType != ocispec.MediaTypeImageIndex {
		t.Errorf("%d platforms and media type %q", len(img.image.Platforms), img.image.Root.MediaType)
	}
}

func TestOpenDiffIDs(t *testing.T) {
	m := newMemory()
	root := m.putImage(t, source{layers: [][]header{base, configs}}.image(t))
	o, err := image.DecodeObject(m.blobs[root.Digest])
	fail.On(t, err)
	var layers []ocispec.Descriptor
	fail.On(t, o.Field("layers", &layers))
	o, err = o.With("layers", layers[:1])
	fail.On(t, err)
	_, err = Open(t.Context(), m, "", m.put(root.MediaType, mustEncode(t, o)))
	says(t, err, "2 diff IDs for the 1 layers")
}

// says checks that err is an error that contains all words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}
