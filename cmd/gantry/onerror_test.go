package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// noStore makes the source refuse the blobs of a related image of package lantern in the first
// catalog.
var noStore = rt.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: rt.Status(http.StatusNotFound)}

// leaves checks that a run excludes package lantern and reports it.
func (w *fixture) leaves(args ...string) {
	w.t.Helper()
	o := w.gantry(append([]string{"mirror", "--on-error", "package"}, args...)...)
	if o.code != exitPartial {
		w.t.Fatalf("mirror %v ended with %d, want %d:\n%s%s", args, o.code, exitPartial, o.stdout, o.stderr)
	}
	for _, words := range []string{"not mirrored: images.example.net/lantern/store", "excluded: package lantern of catalog registry.example.com/acme/operator-index:v4.20", "1 package is excluded"} {
		if strings.Count(o.stderr, words) != 1 {
			w.t.Errorf("stderr does not contain %q once:\n%s", words, o.stderr)
		}
	}
	if strings.Contains(o.stderr, "withheld") {
		w.t.Errorf("%s%s", o.stdout, o.stderr)
	}
}

// without checks that a catalog is complete except for package lantern.
func (w *fixture) without(prefix string) rt.Verified {
	w.t.Helper()
	v, err := w.mirror.Client().VerifyCatalog(w.t.Context(), prefix+"/"+acme, "v4.20", func(path string) string { return prefix + "/" + path })
	if err != nil {
		w.t.Fatalf("%s is not complete: %v", prefix, err)
	}
	for _, bundle := range v.Bundles {
		if strings.Contains(bundle, "lantern") {
			w.t.Errorf("%s has %s", prefix, bundle)
		}
	}
	if len(v.Bundles) == 0 {
		w.t.Errorf("%s has no bundles", prefix)
	}
	w.verify(prefix, community, 5)
	return v
}

func TestOnErrorPackage(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, rt.Options{})
	isc := w.path("imageset.yaml")
	w.source.Script(noStore)
	w.leaves("-c", isc, w.docker("/direct"))
	w.without("direct")
	for _, file := range w.resources() {
		if strings.Contains(file, "lantern/store") {
			t.Errorf("the manifests name what is not there:\n%s", file)
		}
	}
	// The next run copies what failed.
	w.source.Script()
	w.must("mirror", "-c", isc, w.docker("/direct"))
	w.verify("direct", acme, 4)
}

// TestOnErrorPackageInEveryDirection checks that the result does not depend on where an image is
// missing, and that the next run brings the same as if nothing had failed.
func TestOnErrorPackageInEveryDirection(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, rt.Options{})
	isc := w.path("imageset.yaml")
	w.must("mirror", "-c", isc, w.docker("/calm"), "--workspace", w.path("calm"))
	calm := w.verify("calm", acme, 4)
	w.must("mirror", "-c", isc, "file://"+w.path("whole"), "--workspace", w.path("calm"))

	w.source.Script(noStore)
	disk := "file://" + w.path("disk")
	w.leaves("-c", isc, w.docker("/direct"))
	direct := w.without("direct")
	w.leaves("-c", isc, disk)
	w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far"))
	if carried := w.without("carried"); carried.Catalog != direct.Catalog {
		t.Errorf("carried: %v, direct: %v", carried.Catalog, direct.Catalog)
	}

	// The mirror refuses an image that the archive contains.
	w.mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/disk/.*lantern/store/manifests/", Action: rt.Status(http.StatusBadRequest)})
	w.leaves("--from", "file://"+w.path("whole"), w.docker("/disk"), "--workspace", w.path("far2"))
	w.mirror.Script()
	if got := w.without("disk"); got.Catalog != direct.Catalog {
		t.Errorf("from disk: %v, direct: %v", got.Catalog, direct.Catalog)
	}

	// The next run copies what failed. The result is as if nothing had failed.
	w.source.Script()
	w.must("mirror", "-c", isc, w.docker("/direct"))
	w.must("mirror", "--from", "file://"+w.path("whole"), w.docker("/disk"), "--workspace", w.path("far2"))
	w.must("mirror", "-c", isc, disk)
	w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far"))
	for _, prefix := range []string{"direct", "disk", "carried"} {
		if got := w.verify(prefix, acme, 4); got.Catalog != calm.Catalog || got.Bytes() != calm.Bytes() {
			t.Errorf("%s: %v, undisturbed: %v", prefix, got.Catalog, calm.Catalog)
		}
	}
}

// resources returns the texts of the cluster resources in the workspace.
func (w *fixture) resources() []string {
	w.t.Helper()
	var texts []string
	err := filepath.WalkDir(w.path("workspace/cluster-resources"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil || len(texts) == 0 {
		w.t.Fatalf("%d manifests, %v", len(texts), err)
	}
	return texts
}

// TestOnErrorPackageOfMissingImages checks that if an image is missing during planning, its package
// is excluded from the plan, and that the printed plan is the one that is carried out.
func TestOnErrorPackageOfMissingImages(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, rt.Options{})
	isc := w.path("imageset.yaml")
	w.source.Script(rt.Rule{Path: "/lantern/store/", Action: rt.Status(http.StatusNotFound)})
	o := w.gantry("mirror", "--on-error", "package", "--dry-run", "-c", isc, w.docker("/direct"))
	if o.code != exitPartial || !strings.Contains(o.stdout, "package lantern is excluded") {
		t.Errorf("--dry-run ended with %d:\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.leaves("-c", isc, w.docker("/direct"))
	w.without("direct")
	w.leaves("-c", isc, "oci://"+w.path("layout"))

	// The report contains all of it.
	o = w.gantry("mirror", "--on-error", "package", "--output", "json", "-c", isc, w.docker("/direct"))
	var result struct {
		Report struct {
			Failed  []struct{ Source, Reason string }
			LeftOut []struct{ Catalog, Package string }
			Held    []any
		}
	}
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitPartial {
		t.Fatalf("%d, %v", o.code, err)
	}
	if r := result.Report; len(r.Failed) != 1 || len(r.LeftOut) != 1 || r.LeftOut[0].Package != "lantern" || len(r.Held) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestOnErrorStop(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, rt.Options{})
	isc, disk := w.path("imageset.yaml"), "file://"+w.path("disk")
	w.must("mirror", "-c", isc, "file://"+w.path("whole"), "--workspace", w.path("calm"))
	w.source.Script(noStore)
	w.mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/carried/.*lantern/store/manifests/", Action: rt.Status(http.StatusBadRequest)})
	runs := [][]string{{"-c", isc, w.docker("/direct")}, {"--from", "file://" + w.path("whole"), w.docker("/carried")}, {"-c", isc, disk}, {"-c", isc, "oci://" + w.path("layout")}}
	for _, args := range runs {
		args = append([]string{"mirror", "--on-error", "stop"}, args...)
		o := w.gantry(args...)
		if o.code != exitError || !strings.Contains(o.stderr, "not mirrored: images.example.net/lantern/store") ||
			!strings.Contains(o.stderr, "stopped because images.example.net/lantern/store") || o.stdout != "" {
			t.Errorf("%v ended with %d:\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	for _, prefix := range []string{"direct", "carried"} {
		if _, err := w.mirror.Client().Pull(t.Context(), prefix+"/"+acme, "v4.20"); err == nil {
			t.Errorf("%s: the catalog was published", prefix)
		}
	}
	if _, err := os.Stat(w.path("workspace/cluster-resources")); err == nil {
		t.Error("cluster resources were written")
	}
	if sets, _ := filepath.Glob(w.path("disk/gantry-*")); len(sets) > 0 {
		t.Errorf("there is an archive: %v", sets)
	}
	w.source.Script()
	w.mirror.Script()
	w.must("mirror", "--on-error", "stop", "-c", isc, w.docker("/direct"))
	w.verify("direct", acme, 4)
	w.must("mirror", "--on-error", "stop", "-c", isc, disk)
	w.must("mirror", "--on-error", "stop", "--from", disk, w.docker("/carried"))
	w.verify("carried", acme, 4)
}

func TestOnErrorValues(t *testing.T) {
	t.Parallel()
	w := newFixture(t, rt.Options{})
	w.refuse(exitUsage, []string{"--on-error", "stop or continue or package"}, "mirror", "--on-error", "ignore", "-c", w.path("imageset.yaml"), w.docker(""))
}
