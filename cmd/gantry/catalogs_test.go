package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The catalogs of zoo.txtar: their references, and their repositories in a mirror.
const (
	zooRef   = "registry.example.com/zoo/operator-index:v4.20"
	riverRef = "quay.example.org/river/operator-index:v4.20"
	zoo      = "zoo/operator-index"
	river    = "river/operator-index"
)

// emptyFixture returns a fixture whose source is empty and replaces the hosts of zoo.txtar.
func emptyFixture(t *testing.T, source *registrytest.Server) *fixture {
	t.Helper()
	notAgain(t)
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: source, mirror: registrytest.Start(t, registrytest.Options{})}
	w.surroundings(w.standFor("registry.example.com", "quay.example.org"), "")
	return w
}

// standFor writes a registries.conf in which the source replaces these hosts, and returns its path.
func (w *fixture) standFor(hosts ...string) string {
	w.t.Helper()
	var conf strings.Builder
	fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n", w.source.Host)
	for _, host := range hosts {
		fmt.Fprintf(&conf, "\n[[registry]]\nprefix = %q\nlocation = %q\ninsecure = true\n", host, w.source.Host+"/"+host)
	}
	return w.write("registries.conf", conf.String())
}

// newCatalogFixture returns a fixture with the content of zoo.txtar of package mirrortest: its catalogs with all their
// images, in the source and as folders, and its other files in the folder. The source is an
// in-memory registry, which accepts this many images at once. The mirror is real.
func newCatalogFixture(t *testing.T) *fixture {
	t.Helper()
	w := emptyFixture(t, registrytest.New(t, registrytest.Options{}))
	archive, err := txtar.ParseFile("../../mirror/mirrortest/testdata/zoo.txtar")
	if err != nil {
		t.Fatal(err)
	}
	pushed := map[string]string{}
	push := func(kind string) func(string) (string, error) {
		return func(ref string) (string, error) {
			if pushed[ref] != "" {
				return pushed[ref], nil
			}
			content, err := smallImage(kind, ref)
			if err == nil {
				pushed[ref] = w.push(ref, content)
			}
			if kind == "tag" {
				pushed[ref] = ref
			}
			return pushed[ref], err
		}
	}
	funcs := template.FuncMap{"bundle": push("bundle"), "index": push("index"), "tag": push("tag")}
	catalogs := map[string]fstest.MapFS{"zoo": {}, "river": {}}
	for _, f := range archive.Files {
		text := string(f.Data)
		if dir, name := path.Split(f.Name); dir != "" {
			text = render(t, f.Name, text, funcs)
			catalogs[path.Clean(dir)][name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
			w.mkdir(dir)
		}
		w.write(f.Name, text)
	}
	for name, ref := range map[string]string{"zoo": zooRef, "river": riverRef} {
		img, err := registrytest.CatalogImage(catalogs[name])
		if err != nil {
			t.Fatal(err)
		}
		w.push(ref, img)
	}
	return w
}

// smallImage returns an image of a few bytes. If kind is index, it has two platforms.
func smallImage(kind, ref string) (registrytest.Content, error) {
	name, version, _ := strings.Cut(path.Base(ref), ":v")
	if kind == "index" {
		return registrytest.Index(name)
	}
	return registrytest.BundleImage(strings.TrimSuffix(name, "-bundle"), version)
}

func render(t *testing.T, name, text string, funcs template.FuncMap) string {
	t.Helper()
	parsed, err := template.New(name).Funcs(funcs).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// push pushes an image to the path for "host/path:tag" in the source and returns the reference by
// digest.
func (w *fixture) push(ref string, content registrytest.Content) string {
	w.t.Helper()
	repository, tag, _ := strings.Cut(ref, ":")
	digest, err := w.source.Client().Push(w.t.Context(), repository, tag, content)
	if err != nil {
		w.t.Fatal(err)
	}
	return repository + "@" + digest.String()
}

// fileImage returns an image for linux/amd64 with these files in one layer.
func fileImage(t *testing.T, config v1.Config, files map[string]string) v1.Image {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, name := range sortedKeys(files) {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", "amd64", config
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return img
}

// mkdir creates a folder in the fixture's folder.
func (w *fixture) mkdir(name string) {
	w.t.Helper()
	if err := os.MkdirAll(w.path(name), 0o750); err != nil {
		w.t.Fatal(err)
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// read reads a file in the fixture's folder.
func (w *fixture) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// tree reads all files below a folder of the fixture, by path.
func (w *fixture) tree(dir string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(w.path(dir), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, w.path(dir)+"/")] = string(text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// changed returns the requests that change a registry.
func changed(log []registrytest.Request) []string {
	var all []string
	for _, r := range log {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}
