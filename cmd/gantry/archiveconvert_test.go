package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// An ocMirrorCache is the cache of oc mirror, version 2, which is the storage of a registry, and the rest of what its archives have.
type ocMirrorCache struct {
	*fixture
	cache *registrytest.Server
	work  map[string]string // paths below the working directory
	had   map[string]bool   // blobs that earlier archives have
	month int
}

func newOCMirrorCache(t *testing.T) *ocMirrorCache {
	t.Helper()
	w := &fixture{t: t, dir: registrytest.TempDir(t), mirror: registrytest.Start(t, registrytest.Options{})}
	w.surroundings(w.write("registries.conf", ""), "")
	return &ocMirrorCache{fixture: w, cache: registrytest.Start(t, registrytest.Options{Alone: true}), work: map[string]string{}, had: map[string]bool{}}
}

// push stores an image under a tag; "" is the tag for an image that is mirrored by its digest.
func (o *ocMirrorCache) push(repository, tag string, content registrytest.Content, err error) digest.Digest {
	o.t.Helper()
	if err == nil && tag == "" {
		hash, hashErr := content.Digest()
		tag, err = "sha256-"+hash.Hex, hashErr
	}
	if err != nil {
		o.t.Fatal(err)
	}
	d, err := o.cache.Client().Push(o.t.Context(), repository, tag, content)
	if err != nil {
		o.t.Fatal(err)
	}
	return d
}

// archive writes what oc mirror writes to a disk: all links of the cache, the blobs that earlier archives do not have, the working
// directory, and the configuration.
func (o *ocMirrorCache) archive(configuration string) (dir string) {
	o.t.Helper()
	o.month++
	check := func(err error) {
		o.t.Helper()
		if err != nil {
			o.t.Fatal(err)
		}
	}
	stored, err := o.cache.Keep()
	check(err)
	defer func() { check(os.RemoveAll(stored)) }()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	now := time.Date(2026, time.Month(o.month), 1, 12, 0, 0, 0, time.UTC)
	add := func(name string, raw []byte) {
		check(w.WriteHeader(&tar.Header{Name: name, Size: int64(len(raw)), Mode: 0o644, ModTime: now, Typeflag: tar.TypeReg}))
		_, err := w.Write(raw)
		check(err)
	}
	for _, below := range []string{"repositories", "blobs"} {
		check(fs.WalkDir(os.DirFS(stored), below, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || o.had[name] {
				return err
			}
			raw, err := fs.ReadFile(os.DirFS(stored), name)
			add("docker/registry/v2/"+name, raw)
			o.had[name] = below == "blobs"
			return err
		}))
	}
	for name, text := range o.work {
		add("working-dir/"+name, []byte(text))
	}
	add("isc_"+now.Format(time.RFC3339), []byte(configuration))
	check(w.Close())
	dir = o.path(fmt.Sprint("disk", o.month))
	check(os.Mkdir(dir, 0o755))
	check(os.WriteFile(filepath.Join(dir, "mirror_000001.tar"), text.Bytes(), 0o600))
	return dir
}

// TestImportConverted converts archives of oc mirror, imports the result into a mirror, and compares what the mirror has with the
// cache of oc mirror.
func TestImportConverted(t *testing.T) {
	t.Parallel()
	o := newOCMirrorCache(t)
	image, err := registrytest.SizedImage("shell", 900)
	shell := o.push("tools/shell", "1", image, err)
	index, err := registrytest.Index("multi")
	o.push("tools/multi", "2", index, err)
	image, err = registrytest.SizedImage("pinned", 700)
	pinned := o.push("ours/pinned", "", image, err)
	if _, err := o.cache.Client().PushSignature(t.Context(), "tools/shell", shell, ".sig", "signed"); err != nil {
		t.Fatal(err)
	}
	image, err = registrytest.BundleImage("lantern", "1.0.0")
	bundle := o.push("lantern/bundle", "", image, err)
	// The catalog: its files beside the image are YAML, as in the image.
	files := "schema: olm.package\nname: lantern\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: lantern\nname: stable\nentries: [{name: lantern.v1.0.0}]\n---\n" +
		"schema: olm.bundle\nname: lantern.v1.0.0\npackage: lantern\nimage: registry.example.com/lantern/bundle@" + bundle.String() +
		"\nproperties: [{type: olm.package, value: {packageName: lantern, version: 1.0.0}}]\n"
	if err := os.Mkdir(o.path("catalog"), 0o755); err != nil {
		t.Fatal(err)
	}
	o.write("catalog/catalog.yaml", files)
	o.must("catalog", "build", o.path("catalog"), "docker://"+o.cache.Host+"/acme/operator-index:v4.20")
	original := get(t, o.cache, "acme/operator-index", "v4.20")
	o.work["operator-catalogs/operator-index/"+original.digest.Encoded()+"/catalog-config/configs/lantern/catalog.yaml"] = files
	o.work["isc_pinned_2026-01-01T12:00:00Z.yaml"] = "kind: ImageSetConfiguration\n"
	configuration := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    full: true\n" +
		"  additionalImages:\n  - name: quay.io/tools/shell:1\n  - name: quay.io/tools/multi:2\n  - name: quay.io/tools/pinned@" + pinned.String() + "\n    targetRepo: ours/pinned\n"
	first := o.archive(configuration)
	image, err = registrytest.SizedImage("shell", 900, 500) // with a layer that the first archive has
	o.push("tools/shell", "2", image, err)
	image, err = registrytest.SizedImage("new", 400)
	o.push("tools/new", "1", image, err)
	second := o.archive(configuration + "  - name: quay.io/tools/shell:2\n  - name: quay.io/tools/new:1\n")

	// What is not an archive of Gantry is said, with the remedy, whatever is asked for.
	for _, args := range [][]string{{"mirror", "--from", "file://" + first, o.docker("/x")}, {"verify", "file://" + first}, {"archive", "inspect", "file://" + first}, {"archive", "list", "file://" + first}, {"serve", "file://" + first}} {
		o.refuseLook(exitUsage, []string{"mirror_000001.tar is an archive that oc mirror wrote", "gantry archive convert"}, args...)
	}
	o.refuseLook(exitUsage, []string{"it is a file, and not a folder; name the folder with mirror_000001.tar"}, "archive", "convert", "file://"+first+"/mirror_000001.tar", "--to", o.path("none"))

	check := func(converted, prefix string, want map[string]bool) {
		t.Helper()
		o.must("mirror", "--from", "file://"+converted, o.docker(prefix))
		o.must("verify", "--deep", o.docker(prefix))
		o.must("verify", "file://"+converted)
		all, err := o.cache.Repositories(".")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			for tag, d := range r.Tags {
				in := tag
				if in == fallbackTag(d) {
					in = pinTag(d)
				}
				name := r.Name + ":" + tag
				got, err := o.mirror.Client().Pull(t.Context(), strings.TrimPrefix(prefix, "/")+"/"+r.Name, in)
				if wanted := want == nil || want[name]; wanted != (err == nil) || wanted && got.Digest != d {
					t.Errorf("%s in %s: %v %v, want %t", name, prefix, got.Digest, err, wanted)
				}
			}
		}
	}
	o.looked(exitOK, "archive", "convert", "file://"+first, "file://"+second, "--to", o.path("both"))
	check(o.path("both"), "/both", nil)
	if text := o.looked(exitOK, "archive", "inspect", "file://"+o.path("both")).stdout; !strings.Contains(text, "1 bundle") || !strings.Contains(text, "lantern") {
		t.Errorf("the catalog was not read:\n%s", text)
	}
	// Alone, the second one has only what is new.
	o.says(o.looked(exitPartial, "archive", "convert", "file://"+second, "--to", o.path("alone")).stderr, "1 of 2 images are incomplete and left out, such as tools/shell:2")
	check(o.path("alone"), "/alone", map[string]bool{"tools/new:1": true})

	// A flipped bit is found, in a layer as in a manifest.
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(layer)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"layer": content, "manifest": get(t, o.cache, "tools/new", "1").raw} {
		raw, err := os.ReadFile(filepath.Join(second, "mirror_000001.tar"))
		if err != nil {
			t.Fatal(err)
		}
		raw[bytes.Index(raw, content)+len(content)/2] ^= 1
		damaged := o.path("damaged " + name)
		if err := errors.Join(os.Mkdir(damaged, 0o755), os.WriteFile(filepath.Join(damaged, "mirror_000001.tar"), raw, 0o600)); err != nil {
			t.Fatal(err)
		}
		o.refuseLook(exitMismatch, []string{"damaged", "copy the files again"}, "archive", "convert", "file://"+first, "file://"+damaged, "--to", o.path("none"))
	}
}
