package mirrortest

import (
	_ "embed" // for the files
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The catalogs of testdata/zoo.txtar: their references, and their repositories in a mirror.
const (
	ZooRef   = "registry.example.com/zoo/operator-index:v4.20"
	RiverRef = "quay.example.org/river/operator-index:v4.20"
	Zoo      = "zoo/operator-index"
	River    = "river/operator-index"
)

var (
	//go:embed testdata/zoo.txtar
	zoo []byte
	//go:embed testdata/kelp.txtar
	kelp []byte
)

// Empty returns a Site whose source is empty. It has the hosts registry.example.com and quay.example.org.
func Empty(t *testing.T) *Site {
	t.Helper()
	NotAgain(t)
	s := newSite(t, registrytest.New(t, registrytest.Options{}), registrytest.Options{})
	hosts := []string{"registry.example.com", "quay.example.org"}
	s.Write("registries.conf", registrytest.RegistriesConf(s.Source.Host, hosts, s.Source.Host, s.Mirror.Host))
	return s
}

// Catalogs returns a Site with the content of testdata/zoo.txtar: its catalogs with all their images, in the source
// and as folders, and its other files in the folder.
func Catalogs(t *testing.T) *Site {
	t.Helper()
	s := Empty(t)
	pushed := map[string]string{}
	push := func(kind string) func(string) (string, error) {
		return func(ref string) (string, error) {
			if pushed[ref] != "" {
				return pushed[ref], nil
			}
			content, err := smallImage(kind, ref)
			if err != nil {
				return "", err
			}
			pushed[ref] = s.Push(ref, content)
			if kind == "tag" {
				pushed[ref] = ref
			}
			return pushed[ref], nil
		}
	}
	funcs := template.FuncMap{"bundle": push("bundle"), "index": push("index"), "tag": push("tag")}
	catalogs := map[string]fstest.MapFS{"zoo": {}, "river": {}}
	for _, f := range txtar.Parse(zoo).Files {
		text := string(f.Data)
		if dir, name := path.Split(f.Name); dir != "" {
			text = executed(t, f.Name, text, funcs)
			catalogs[path.Clean(dir)][name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
			fail.On(t, os.MkdirAll(s.Path(dir), 0o750))
		}
		s.Write(f.Name, text)
	}
	s.PushCatalog(ZooRef, catalogs["zoo"])
	s.PushCatalog(RiverRef, catalogs["river"])
	return s
}

// PushCatalog pushes a catalog image to the source.
func (s *Site) PushCatalog(ref string, files fstest.MapFS) {
	s.T.Helper()
	img, err := registrytest.CatalogImage(files)
	fail.On(s.T, err)
	s.Push(ref, img)
}

// smallImage returns an image of a few bytes. If kind is index, it has two platforms.
func smallImage(kind, ref string) (registrytest.Content, error) {
	name, version, _ := strings.Cut(path.Base(ref), ":v")
	if kind == "index" {
		return registrytest.Index(name)
	}
	return registrytest.BundleImage(strings.TrimSuffix(name, "-bundle"), version)
}

func executed(t *testing.T, name, text string, funcs template.FuncMap) string {
	t.Helper()
	parsed, err := template.New(name).Funcs(funcs).Parse(text)
	fail.On(t, err)
	var b strings.Builder
	fail.On(t, parsed.Execute(&b, nil))
	return b.String()
}

// FileImage returns an image for linux/amd64 with these files in one layer.
func FileImage(t *testing.T, config v1.Config, files map[string]string) v1.Image {
	t.Helper()
	var list []registrytest.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, registrytest.File{Name: name, Data: []byte(files[name]), Mode: 0o755})
	}
	img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, config, list)
	fail.On(t, err)
	return img
}

// KelpBundle returns the labels and files of a bundle, in the layout of operator-sdk.
func KelpBundle() (labels, files map[string]string) {
	labels = map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":  "metadata/",
		"operators.operatorframework.io.bundle.package.v1":   "kelp",
		"operators.operatorframework.io.bundle.channels.v1":  "stable",
	}
	annotations := "annotations:\n"
	for _, line := range slices.Sorted(maps.Keys(labels)) {
		annotations += "  " + line + ": " + labels[line] + "\n"
	}
	files = map[string]string{"metadata/annotations.yaml": annotations}
	for _, f := range txtar.Parse(kelp).Files {
		files[f.Name] = string(f.Data)
	}
	return labels, files
}
