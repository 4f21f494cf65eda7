package mirroring_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// noStore makes the source refuse the blobs of a related image of package lantern in the first catalog.
var noStore = rt.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: rt.Status(http.StatusNotFound)}

// onError sets Options.OnError.
func onError(value string) func(*mirroring.Options) {
	return func(o *mirroring.Options) { o.OnError = value }
}

// from reads archives, in a workspace of its own.
func from(s *mirrortest.Site, workspace string, archives ...string) func(*mirroring.Options) {
	return func(o *mirroring.Options) { o.Config, o.From, o.Workspace = "", archives, s.Path(workspace) }
}

// runs mirrors a configuration as a program that starts anew.
func runs(s *mirrortest.Site, isc, to string, change ...func(*mirroring.Options)) (*mirroring.Result, error) {
	o := s.MirrorOptions(isc, to)
	o.Env = s.NewEnv()
	for _, c := range change {
		c(&o)
	}
	return mirroring.Run(s.T.Context(), o)
}

// excludes checks that a run excludes package lantern and reports it.
func excludes(s *mirrortest.Site, isc, to string, change ...func(*mirroring.Options)) {
	s.T.Helper()
	r, err := runs(s, isc, to, append(change, onError(selection.OnErrorPackage))...)
	mirrortest.Refused(s.T, err, advice.Partial, "1 package is excluded")
	if r == nil {
		s.T.Fatal(err)
	}
	lantern := func(x mirror.Excluded) bool {
		return x.Package == "lantern" && x.Catalog == "registry.example.com/acme/operator-index:v4.20"
	}
	if len(r.Report.Failed) != 1 || !strings.HasPrefix(r.Report.Failed[0].Source, "images.example.net/lantern/store") || len(r.Report.Withheld) > 0 || !slices.ContainsFunc(r.Report.Excluded, lantern) {
		s.T.Errorf("%+v", r.Report)
	}
	if r.Resources == nil {
		return
	}
	for _, name := range r.Resources.Files {
		if text, err := os.ReadFile(r.Resources.Dir + "/" + name); err != nil || strings.Contains(string(text), "lantern/store") {
			s.T.Errorf("%s names what is not there, or %v", name, err)
		}
	}
}

// without checks that a catalog is complete except for package lantern.
func without(s *mirrortest.Site, prefix string) rt.Verified {
	s.T.Helper()
	v, err := s.Mirror.Client().VerifyCatalog(s.T.Context(), prefix+"/"+mirrortest.Acme, "v4.20", func(path string) string { return prefix + "/" + path })
	if err != nil {
		s.T.Fatalf("%s is not complete: %v", prefix, err)
	}
	if len(v.Bundles) == 0 || slices.ContainsFunc(v.Bundles, func(name string) bool { return strings.Contains(name, "lantern") }) {
		s.T.Errorf("%s has the bundles %v", prefix, v.Bundles)
	}
	s.VerifyCatalog(prefix, mirrortest.Community, 5)
	return v
}

// TestOnErrorPackage checks that the result does not depend on where an image is missing, and that the next run brings the
// same as if nothing had failed.
func TestOnErrorPackage(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, rt.Options{})
	isc := s.Path("imageset.yaml")
	calmly := func(o *mirroring.Options) { o.Workspace = s.Path("calm") }
	s.Mirrored(isc, s.Docker("calm"), calmly)
	calm := s.VerifyCatalog("calm", mirrortest.Acme, 4)
	whole := s.Exported(isc, "whole", calmly)

	s.Source.Script(noStore)
	disk := s.Archive("disk")
	excludes(s, isc, s.Docker("direct"))
	direct := without(s, "direct")
	excludes(s, isc, disk)
	s.Mirrored("", s.Docker("carried"), from(s, "far", disk))
	fail.Diff(t, direct.Catalog, without(s, "carried").Catalog)
	// The mirror refuses an image that the archive contains.
	s.Mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/disk/.*lantern/store/manifests/", Action: rt.Status(http.StatusBadRequest)})
	excludes(s, "", s.Docker("disk"), from(s, "far2", whole))
	s.Mirror.Script()
	fail.Diff(t, direct.Catalog, without(s, "disk").Catalog)

	// The next run copies what failed. The result is as if nothing had failed.
	s.Source.Script()
	s.Mirrored(isc, s.Docker("direct"))
	s.Mirrored("", s.Docker("disk"), from(s, "far2", whole))
	s.Mirrored(isc, disk)
	s.Mirrored("", s.Docker("carried"), from(s, "far", disk))
	for _, prefix := range []string{"direct", "disk", "carried"} {
		if got := s.VerifyCatalog(prefix, mirrortest.Acme, 4); got.Catalog != calm.Catalog || got.Bytes() != calm.Bytes() {
			t.Errorf("%s: %v, undisturbed: %v", prefix, got.Catalog, calm.Catalog)
		}
	}
}

// TestOnErrorPackageOfMissingImages checks that if an image is missing during planning, its package is excluded from the
// plan, and that the plan of a dry run is the one that is carried out.
func TestOnErrorPackageOfMissingImages(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, rt.Options{})
	isc := s.Path("imageset.yaml")
	s.Source.Script(rt.Rule{Path: "/lantern/store/", Action: rt.Status(http.StatusNotFound)})
	r, err := runs(s, isc, s.Docker("direct"), onError(selection.OnErrorPackage), func(o *mirroring.Options) { o.DryRun = true })
	mirrortest.Refused(t, err, advice.Partial, "missing at the source")
	if !slices.ContainsFunc(r.Plan.Notes, func(note string) bool { return strings.Contains(note, "package lantern is excluded") }) {
		t.Errorf("%q", r.Plan.Notes)
	}
	excludes(s, isc, s.Docker("direct"))
	without(s, "direct")
	excludes(s, isc, env.LayoutScheme+s.Path("layout"))
}

// TestOnErrorStop checks that a run publishes nothing and writes no archive if an image is missing, and that the next one
// succeeds.
func TestOnErrorStop(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, rt.Options{})
	isc, disk, stop := s.Path("imageset.yaml"), s.Archive("disk"), onError(selection.OnErrorStop)
	whole := s.Exported(isc, "whole", func(o *mirroring.Options) { o.Workspace = s.Path("calm") })
	s.Source.Script(noStore)
	s.Mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/carried/.*lantern/store/manifests/", Action: rt.Status(http.StatusBadRequest)})
	imports := from(s, "workspace", whole)
	for to, change := range map[string]func(*mirroring.Options){s.Docker("direct"): stop, s.Docker("carried"): imports, disk: stop, env.LayoutScheme + s.Path("layout"): stop} {
		_, err := runs(s, isc, to, change, stop)
		mirrortest.Refused(t, err, advice.Failure, "stopped because images.example.net/lantern/store")
	}
	for _, prefix := range []string{"direct", "carried"} {
		if _, err := s.Mirror.Client().Pull(t.Context(), prefix+"/"+mirrortest.Acme, "v4.20"); err == nil {
			t.Errorf("%s: the catalog was published", prefix)
		}
	}
	for _, name := range []string{"workspace/cluster-resources", "disk/gantry-000001.json"} {
		if _, err := os.Stat(s.Path(name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	s.Source.Script()
	s.Mirror.Script()
	s.Mirrored(isc, s.Docker("direct"), stop)
	s.VerifyCatalog("direct", mirrortest.Acme, 4)
	s.Mirrored(isc, disk, stop)
	s.Mirrored("", s.Docker("carried"), stop, from(s, "workspace", disk))
	s.VerifyCatalog("carried", mirrortest.Acme, 4)
}
