package removal_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// prunable mirrors a configuration to PREFIX site, and then a smaller one: lantern without tidewater.
func prunable(t *testing.T) *mirrortest.Site {
	t.Helper()
	s := mirrortest.New(t, registrytest.Options{})
	s.Mirrored(s.Operators("lantern", "tidewater"), s.Docker("site"))
	s.Mirrored(s.Operators("lantern"), s.Docker("site"))
	return s
}

// yes deletes.
func yes(o *removal.PruneOptions) { o.Yes = true }

// forget gives up an image set.
func forget(name string) func(*removal.PruneOptions) {
	return func(o *removal.PruneOptions) { o.Forget = name }
}

// at prunes another mirror.
func at(mirror string) func(*removal.PruneOptions) {
	return func(o *removal.PruneOptions) { o.Mirror = mirror }
}

// prunes runs Prune for the mirror with PREFIX site.
func prunes(s *mirrortest.Site, change ...func(*removal.PruneOptions)) (*removal.PruneResult, error) {
	o := removal.PruneOptions{Env: s.NewEnv(), Mirror: s.Docker("site"), Workspace: s.Workspace()}
	for _, c := range change {
		c(&o)
	}
	return removal.Prune(s.T.Context(), o)
}

// pruned runs Prune, which must succeed.
func pruned(s *mirrortest.Site, change ...func(*removal.PruneOptions)) *removal.PruneResult {
	s.T.Helper()
	r, err := prunes(s, change...)
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// nothingLeft checks that there is nothing to delete.
func nothingLeft(s *mirrortest.Site, change ...func(*removal.PruneOptions)) {
	s.T.Helper()
	if r := pruned(s, change...); !r.Plan.Empty() {
		s.T.Errorf("left to delete: %+v", r.Plan)
	}
}

// TestPruneOptions checks which options contradict each other.
func TestPruneOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]removal.PruneOptions{
		"is not a mirror registry":         {Mirror: "file:///srv/disk"},
		"are part of the plan":             {Plan: "plan.json", KeepLast: 2},
		"Options.Plan and Options.Save":    {Plan: "plan.json", Save: "other.json"},
		"Options.KeepLast -1":              {KeepLast: -1},
		"Options.OlderThan -1ns":           {OlderThan: -1},
		"reading the plan: open none.json": {Plan: "none.json"},
	} {
		if o.Mirror == "" {
			o.Mirror = "docker://mirror.example.com/site"
		}
		_, err := removal.Prune(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, want)
	}
}

// TestPruneRefused checks that a registry that deletes nothing is asked only for the deletion of the artifact that was
// pushed to find that out, and that a run that prunes says that everything was mirrored.
func TestPruneRefused(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	s.Mirror.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")})
	s.Mirror.ResetLog()
	r, err := prunes(s, yes)
	mirrortest.Refused(t, err, advice.Partial, "refuses to delete content, so nothing was deleted", "REGISTRY_STORAGE_DELETE_ENABLED")
	if r == nil || !r.Refused || r.Deleted != nil {
		t.Errorf("%+v", r)
	}
	for _, request := range mirrortest.Requests(s.Mirror, http.MethodDelete) {
		if !strings.Contains(request, "/gantry-image-sets/") {
			t.Error(request)
		}
	}
	o := s.MirrorOptions(s.Path("imageset.yaml"), s.Docker("site"))
	o.Env, o.Prune = s.NewEnv(), true
	_, err = mirroring.Run(t.Context(), o)
	mirrortest.Refused(t, err, advice.Partial, "everything was mirrored", "refuses to delete content")
	status, err := workspace.Status(s.Workspace())
	if err != nil || len(status.Runs) != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	if r := status.Runs[0]; r.Result != state.RunPartial || r.LastSuccess != r.Ended || !strings.HasPrefix(r.Message, "everything was mirrored") || r.Failed > 0 {
		t.Errorf("%+v", r)
	}
	s.Mirror.Script()
	if r := pruned(s); r.Plan.Totals.Manifests == 0 {
		t.Error("nothing is left to delete")
	}
	s.Verified(s.Path("imageset.yaml"), s.Docker("site"))
}

// TestPruneOverlap checks that content stays which another mirror lists, whose prefix is below this one or contains it, and
// that records are found with a limit of path components.
func TestPruneOverlap(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t) // package pkg/mirror/prune tests what stays, TestPruneWithArchives the verb
	s := prunable(t)
	named := func(o *mirroring.Options) { o.Name = "imageset" }
	// The first mirror had netcheck in site/tools/netcheck, and so has the second one below it.
	other := s.Config("other.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n    targetRepo: netcheck\n")
	s.Mirrored(s.Images("images.example.net/tools/netcheck:1.4", "images.example.net/tools/must-gather:4.20"), s.Docker("site"), named)
	s.Mirrored(other, s.Docker("site/tools"))
	s.Mirrored(s.Operators("lantern"), s.Docker("site"), named)
	pruned(s, yes)
	s.Verified(other, s.Docker("site/tools"))
	nothingLeft(s)
	nothingLeft(s, yes, at(s.Docker("site/tools")))
	// Once the second one does not need it either, nothing of the first one keeps it.
	s.Mirrored(s.Images("images.example.net/tools/must-gather:4.20"), s.Docker("site/tools"), func(o *mirroring.Options) { o.Name = "other" })
	pruned(s, yes, at(s.Docker("site/tools")))
	if s.Has("site/tools", "netcheck") {
		t.Error("netcheck is left")
	}
	s.Operators("lantern")

	nested := func(o *mirroring.Options) { o.MaxNestedPaths = 2 }
	flat := func(o *removal.PruneOptions) { o.Mirror, o.MaxNestedPaths = s.Docker("flat"), 2 }
	s.Mirrored(s.Operators("lantern", "tidewater"), s.Docker("flat"), nested)
	s.Mirrored(s.Operators("lantern"), s.Docker("flat"), nested)
	// A run without the limit, or with another one, uses the same records.
	s.Mirrored(s.Config("deep.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"), s.Docker("flat"))
	p := pruned(s, at(s.Docker("flat"))).Plan
	deletes := func(word string) bool {
		return slices.ContainsFunc(p.Manifests, func(m prune.Manifest) bool { return strings.Contains(m.Repository, word) })
	}
	if !deletes("tidewater") || deletes("netcheck") {
		t.Errorf("%+v", p)
	}
	if r := pruned(s, yes, flat); r.Deleted == nil || r.Deleted.Manifests == 0 {
		t.Errorf("%+v", r)
	}
	s.Verified(s.Path("imageset.yaml"), s.Docker("flat"), func(o *verify.Options) { o.MaxNestedPaths = 2 })
	if v := s.Verified("", s.Docker("flat")); len(v.Registry.ImageSets) != 2 {
		t.Errorf("%+v", v.Registry.ImageSets)
	}
}

// TestPruneFailure checks that a run whose deletions fail in one repository does the others, and that the next one does
// the rest. A record that the registry lost is named.
func TestPruneFailure(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	s.Mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/gantry-image-sets/blobs/", Action: registrytest.Refuse(http.StatusNotFound, "BLOB_UNKNOWN")})
	_, err := prunes(s)
	mirrortest.Refused(t, err, advice.Failure, "reading the record imageset.t", "delete its tag")
	s.Mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/tidewater/proxy/", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	r, err := prunes(s, yes)
	mirrortest.Refused(t, err, advice.Partial, "could not be deleted; everything that is needed is still complete")
	if r.Deleted == nil || len(r.Deleted.Failed) == 0 || r.Deleted.Manifests == 0 {
		t.Fatalf("%+v", r.Deleted)
	}
	for _, f := range r.Deleted.Failed {
		if f.Repository != "site/tidewater/proxy" {
			t.Errorf("%+v", f)
		}
	}
	s.Mirror.Script()
	if r := pruned(s, yes); r.Deleted == nil || r.Plan.Totals.Repositories != 1 || len(r.Plan.Revisions) == 0 {
		t.Errorf("%+v", r.Plan)
	}
	nothingLeft(s)
	s.VerifyCatalog("site", mirrortest.Acme, 1)
}

// TestPruneInterrupted interrupts a run in the middle of the deletions. The record does not have what may be gone, since the
// tag of a manifest may be left. The same plan deletes the rest.
func TestPruneInterrupted(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	saved := s.Path("prune.json")
	pruned(s, func(o *removal.PruneOptions) { o.Save = saved })
	if !slices.ContainsFunc(recordedPaths(s), isTidewater) {
		t.Error("the record does not have what was mirrored")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/tidewater/", Nth: 4, Action: mirrortest.WithoutResponse(cancel)})
	if _, err := removal.Prune(ctx, removal.PruneOptions{Env: s.NewEnv(), Mirror: s.Docker("site"), Workspace: s.Workspace(), Plan: saved}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if have := recordedPaths(s); len(have) == 0 || slices.ContainsFunc(have, isTidewater) {
		t.Errorf("the record has %q", have)
	}
	s.Mirror.Script()
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	if r := pruned(s, func(o *removal.PruneOptions) { o.Plan = saved }); r.Deleted == nil || r.Deleted.Manifests == 0 {
		t.Errorf("%+v", r)
	}
	nothingLeft(s)
	s.Verified(s.Path("imageset.yaml"), s.Docker("site"))
}

// TestPruneKeepsPublishedCatalog checks that a catalog stays complete which is still published because the newer one was
// withheld, and that content of others stays.
func TestPruneKeepsPublishedCatalog(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	s.Mirrored(s.Operators("lantern"), s.Docker("site"))
	s.Source.Script(registrytest.Rule{Path: "/tidewater/proxy/manifests/", Action: registrytest.Refuse(http.StatusNotFound, "MANIFEST_UNKNOWN")})
	isc := s.Operators("tidewater")
	_, err := mirroring.Run(t.Context(), s.MirrorOptions(isc, s.Docker("site")))
	mirrortest.Refused(t, err, advice.Partial)
	nothingLeft(s, yes)
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	s.Source.Script()
	s.PushMirror("site/lantern/ui", "mine", "foreign")
	s.Mirrored(isc, s.Docker("site"))
	if r := pruned(s, yes); r.Deleted == nil || r.Deleted.Manifests == 0 {
		t.Errorf("%+v", r.Plan)
	}
	if tags := s.Tags("site/lantern"); !slices.Equal(tags, []string{"site/lantern/ui:mine"}) {
		t.Errorf("left: %v", tags)
	}
	s.Verified(isc, s.Docker("site"))
}

// TestPruneWithArchives checks that an archive brings removals: the site prunes after it mirrored it, and a later archive
// brings back what an image set needs again.
func TestPruneWithArchives(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	exported := func(name string, packages ...string) string { return s.Exported(s.Operators(packages...), name) }
	imported := func(from ...string) *removal.PruneResult {
		t.Helper()
		return s.Mirrored("", s.Docker("site"), func(o *mirroring.Options) {
			o.From, o.Workspace, o.Prune = from, s.Path("inside"), true
		}).Pruned
	}
	if r := imported(exported("first", "lantern", "tidewater")); !r.Plan.Empty() {
		t.Errorf("the first import: %+v", r.Plan)
	}
	second := exported("second", "lantern")
	if r := imported(second); r.Deleted == nil || r.Deleted.Manifests == 0 {
		t.Errorf("the second import: %+v", r)
	}
	if tags := s.Tags("site/tidewater"); len(tags) > 0 {
		t.Errorf("left: %v", tags)
	}
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	imported(exported("third", "lantern", "tidewater"), second)
	s.VerifyCatalog("site", mirrortest.Acme, 4)
}

// TestPruneKeepsTaggedCatalog checks that a catalog that no image set needs, and that another tag keeps, stays with what
// it names until the tag is gone.
func TestPruneKeepsTaggedCatalog(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	s.Mirrored(s.Operators("tidewater"), s.Docker("site"))
	client := s.Mirror.Client()
	fail.On(t, client.Copy(t.Context(), client, "site/"+mirrortest.Acme, "v4.20", "site/"+mirrortest.Acme, "mine"))
	isc := s.Operators("lantern")
	s.Mirrored(isc, s.Docker("site"))
	r := pruned(s, yes)
	if !s.Has("site", "tidewater") || !slices.ContainsFunc(r.Plan.Kept, func(k prune.Kept) bool { return strings.Contains(k.Reason, "tag mine; what it names stays, too") }) {
		t.Errorf("%+v", r.Plan)
	}
	s.PushMirror("site/"+mirrortest.Acme, "mine", "foreign")
	pruned(s, yes)
	if s.Has("site", "tidewater") {
		t.Errorf("%q", s.Tags("site"))
	}
	s.Verified(isc, s.Docker("site"))
}

// TestPruneAuditLogFull fills the disk of the workspace when the first content was deleted, so that the audit log cannot be
// written. What is wanted stays, the run fails, and the next one does the rest.
func TestPruneAuditLogFull(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	disk := s.Medium("disk", 32)
	there := func(o *removal.PruneOptions) { o.Workspace = filepath.Join(disk, "workspace") }
	pruned(s, there) // the catalogs are in its cache
	fill, free := s.Filler(disk)
	s.Mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/tidewater/", Action: mirrortest.Once(fill)})
	_, err := prunes(s, yes, there)
	mirrortest.Refused(t, err, advice.Failure, "audit", "no space left")
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	s.Mirror.Script()
	s.Mirror.ResetLog()
	_, err = prunes(s, yes, there)
	mirrortest.Refused(t, err, advice.Failure, "no space left")
	if sent := mirrortest.Requests(s.Mirror, http.MethodDelete); len(sent) > 0 {
		t.Errorf("a run without an audit log sent %v", sent)
	}
	free()
	pruned(s, yes, there)
	nothingLeft(s)
	s.Verified("", s.Docker("site"))
}

func isTidewater(path string) bool { return strings.Contains(path, "/tidewater/") }

// recordedPaths returns the repositories of the images in the record of the mirror.
func recordedPaths(s *mirrortest.Site) (paths []string) {
	s.T.Helper()
	to, err := site.OpenDestination(s.Env, s.Docker("site"), site.DestinationOptions{})
	fail.On(s.T, err)
	sets := to.Registry().ImageSets()
	listed, err := setrecord.List(s.T.Context(), sets)
	if err != nil || len(listed) != 1 {
		s.T.Fatalf("%d records: %v", len(listed), err)
	}
	revision, err := setrecord.CurrentOf(s.T.Context(), sets, &listed[0])
	fail.On(s.T, err)
	record, err := setrecord.ReadRecord(s.T.Context(), sets, revision)
	fail.On(s.T, err)
	for i := range record.Images {
		paths = append(paths, record.Images[i].Mirror.Path)
	}
	return paths
}
