package foreign_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/archive/foreign"
	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestConvert converts archives of oc mirror, imports the result into a mirror, and compares what the mirror has with the
// cache of oc mirror.
func TestConvert(t *testing.T) {
	t.Parallel()
	o := newOCMirrorCache(t)
	image, err := registrytest.SizedImage("shell", 900)
	shell := o.push("tools/shell", "1", image, err)
	index, err := registrytest.Index("multi")
	o.push("tools/multi", "2", index, err)
	image, err = registrytest.SizedImage("pinned", 700)
	pinned := o.push("ours/pinned", "", image, err)
	_, err = o.cache.Client().PushSignature(t.Context(), "tools/shell", shell, ".sig", "signed")
	fail.On(t, err)
	configuration := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n" + o.catalog() +
		"  additionalImages:\n  - name: quay.io/tools/shell:1\n  - name: quay.io/tools/multi:2\n  - name: quay.io/tools/pinned@" + pinned.String() + "\n    targetRepo: ours/pinned\n"
	first := o.archive(configuration)
	image, err = registrytest.SizedImage("shell", 900, 500) // with a layer that the first archive has
	o.push("tools/shell", "2", image, err)
	image, err = registrytest.SizedImage("new", 400)
	o.push("tools/new", "1", image, err)
	second := o.archive(configuration + "  - name: quay.io/tools/shell:2\n  - name: quay.io/tools/new:1\n")

	// An archive of oc mirror is not one of Gantry: the error names the verb that converts it.
	_, err = inspect.Archive(t.Context(), open.Options{Env: o.Env, Folders: []string{"file://" + first}})
	mirrortest.Refused(t, err, advice.Input, "mirror_000001.tar is an archive that oc mirror wrote", "gantry archive convert")

	both, err := o.convert("both", first, second)
	if err != nil || both.Sequence != 1 || len(both.Incomplete) > 0 || both.Set == "" {
		t.Fatalf("%+v, %v", both, err)
	}
	o.compare("both", nil)
	i, err := inspect.Archive(t.Context(), open.Options{Env: o.Env, Folders: []string{o.Archive("both")}})
	if err != nil || i.Name != foreign.ConvertedName || i.Plan.Images[plan.BundleImage] != 1 || len(i.Plan.Catalogs) != 1 || !slices.Equal(i.Plan.Catalogs[0].Packages, []string{"lantern"}) {
		t.Errorf("%+v, %v", i, err)
	}
	// Alone, the second one has only what is new.
	alone, err := o.convert("alone", second)
	mirrortest.Refused(t, err, advice.Partial, "1 of 2 images are incomplete and left out, such as tools/shell:2", "name the folders of earlier archives")
	if len(alone.Incomplete) != 1 || alone.Incomplete[0].Name != "tools/shell:2" || alone.Earlier == 0 {
		t.Errorf("%+v", alone)
	}
	o.compare("alone", map[string]bool{"tools/new:1": true})

	for name, tc := range map[string]struct {
		to, from string
		words    []string
	}{
		"a file":     {"none", first + "/mirror_000001.tar", []string{"it is a file, and not a folder; name the folder with mirror_000001.tar"}},
		"no folder":  {"", first, []string{"Options.To: no folder for the archive"}},
		"no archive": {"none", o.Folder("empty"), []string{"name the folder with mirror_000001.tar"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := foreign.ConvertArchive(t.Context(), foreign.ConvertArchiveOptions{Env: o.Env, Folders: []string{"file://" + tc.from}, To: tc.to})
			mirrortest.Refused(t, err, advice.Input, tc.words...)
		})
	}
	o.damaged(first, second, image)
}

// catalog pushes a catalog with a bundle, and returns what a configuration has of it. Its files beside the image are YAML,
// as in the image.
func (o *ocMirrorCache) catalog() string {
	o.T.Helper()
	image, err := registrytest.BundleImage("lantern", "1.0.0")
	bundle := o.push("lantern/bundle", "", image, err)
	files := "schema: olm.package\nname: lantern\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: lantern\nname: stable\nentries: [{name: lantern.v1.0.0}]\n---\n" +
		"schema: olm.bundle\nname: lantern.v1.0.0\npackage: lantern\nimage: registry.example.com/lantern/bundle@" + bundle.String() +
		"\nproperties: [{type: olm.package, value: {packageName: lantern, version: 1.0.0}}]\n"
	catalog, err := registrytest.CatalogImage(fstest.MapFS{"lantern/catalog.yaml": {Data: []byte(files)}})
	d := o.push("acme/operator-index", "v4.20", catalog, err)
	o.work["operator-catalogs/operator-index/"+d.Encoded()+"/catalog-config/configs/lantern/catalog.yaml"] = files
	o.work["isc_pinned_2026-01-01T12:00:00Z.yaml"] = "kind: ImageSetConfiguration\n"
	return "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    full: true\n"
}

// convert converts folders.
func (o *ocMirrorCache) convert(to string, folders ...string) (*foreign.ConvertedArchive, error) {
	c := foreign.ConvertArchiveOptions{Env: o.Env, To: o.Archive(to)}
	c.Folders = append(c.Folders, elements.Map(folders, func(f string) string { return "file://" + f })...)
	return foreign.ConvertArchive(o.T.Context(), c)
}

// compare imports a converted archive, and compares the mirror with the cache: all images, or the wanted ones.
func (o *ocMirrorCache) compare(converted string, want map[string]bool) {
	o.T.Helper()
	o.Imported(o.Docker(converted), o.Archive(converted))
	for _, location := range []string{o.Docker(converted), o.Archive(converted)} {
		if _, err := verify.Run(o.T.Context(), verify.Options{Env: o.Env, Locations: []string{location}, Workspace: o.Path("inside"), ReadBlobs: strings.HasPrefix(location, "docker")}); err != nil {
			o.T.Errorf("%s: %v", location, err)
		}
	}
	all, err := o.cache.Repositories(".")
	fail.On(o.T, err)
	for _, r := range all {
		for tag, d := range r.Tags {
			in := tag
			if in == "sha256-"+d.Encoded() {
				in = "sha256-" + d.Encoded() + ".image" // the other is for referrers
			}
			name := r.Name + ":" + tag
			got, err := o.Mirror.Client().Pull(o.T.Context(), converted+"/"+r.Name, in)
			if wanted := want == nil || want[name]; wanted != (err == nil) || wanted && got.Digest != d {
				o.T.Errorf("%s in %s: %v %v, want %t", name, converted, got.Digest, err, wanted)
			}
		}
	}
}

// damaged flips a bit of a layer, and one of a manifest.
func (o *ocMirrorCache) damaged(first, second string, image v1.Image) {
	o.T.Helper()
	layers, err := image.Layers()
	fail.On(o.T, err)
	layer, err := layers[0].Compressed()
	fail.On(o.T, err)
	content, err := io.ReadAll(layer)
	manifest, manifestErr := image.RawManifest()
	fail.On(o.T, errors.Join(err, manifestErr))
	for name, content := range map[string][]byte{"layer": content, "manifest": manifest} {
		raw, err := os.ReadFile(filepath.Join(second, "mirror_000001.tar"))
		fail.On(o.T, err)
		at := bytes.Index(raw, content)
		if at < 0 {
			o.T.Fatalf("the archive does not have the %s", name)
		}
		raw[at+len(content)/2] ^= 1
		folder := o.Folder("damaged-" + name)
		o.Write("damaged-"+name+"/mirror_000001.tar", string(raw))
		_, err = o.convert("none", first, folder)
		mirrortest.Refused(o.T, err, advice.Mismatch, "damaged", "copy the files again")
	}
}
