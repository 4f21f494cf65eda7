package mirroring_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestRefusals checks how runs end at a mirror that denies or accepts nothing, and that one which denies access to a
// repository gets everything else. When the mirror accepts content again, the same run succeeds.
func TestRefusals(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, rt.Options{})
	isc, to := s.Path("imageset.yaml"), s.Docker("")
	impatient := func(o *mirroring.Options) { o.Env.RetryTimes, o.Env.RetryDelay = 2, time.Millisecond }
	// The case that mirrors something is the last one: afterwards, too little is left to send.
	for _, tc := range []struct {
		name  string
		rule  rt.Rule
		kind  advice.Kind
		words []string
	}{
		{"denied", rt.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Action: rt.Status(http.StatusForbidden)}, advice.Unauthorized, nil},
		{"unauthorized", rt.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Action: rt.Status(http.StatusUnauthorized)}, advice.Unauthorized, nil},
		{"full", rt.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Action: rt.Status(http.StatusInternalServerError)}, advice.Failure, []string{"HTTP 500", "full"}},
		{"read-only", rt.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Action: rt.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")}, advice.Failure, []string{"HTTP 405", "read-only"}},
		{"a repository", rt.Rule{Method: http.MethodPost, Path: "/lantern/store/blobs/uploads/", Action: rt.Status(http.StatusForbidden)}, advice.Partial, []string{"1 image is not mirrored"}},
	} {
		s.Mirror.Script(tc.rule)
		r, err := runs(s, isc, to, impatient)
		if tc.kind != advice.Partial {
			tc.words = append(tc.words, s.Mirror.Host)
		} else if r == nil || len(r.Report.Failed) != 1 || !strings.Contains(r.Report.Failed[0].Reason, "403") || !strings.Contains(r.Report.Failed[0].Source, "lantern/store") {
			t.Errorf("%s: %+v", tc.name, r)
		}
		mirrortest.Refused(t, err, tc.kind, tc.words...)
	}
	s.Mirror.Script()
	s.Mirrored(isc, to)
	s.Verified(isc, to)
}

// TestLostLayer takes a layer from the mirror: verification with Options.Blobs reports it, and a run with Options.CheckBlobs
// copies it again.
func TestLostLayer(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, rt.Options{})
	isc, to := s.Path("imageset.yaml"), s.Docker("")
	blobs, read := func(o *verify.Options) { o.Blobs = true }, func(o *verify.Options) { o.ReadBlobs = true }
	checked, reading := func(o *mirroring.Options) { o.CheckBlobs = true }, func(o *mirroring.Options) { o.ReadBlobs = true }
	mismatched := func(change func(*verify.Options), words ...string) *verify.VerifiedRegistry {
		t.Helper()
		o := s.VerifyOptions(isc, to)
		change(&o)
		r, err := verify.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Mismatch, words...)
		return r.Registry
	}
	s.Mirrored(isc, to)
	s.Verified(isc, to, blobs)
	s.Mirror.Script(rt.Rule{Method: http.MethodHead, Path: "/lantern/store/blobs/", Action: rt.Status(http.StatusNotFound)})
	s.Verified(isc, to)
	s.Mirrored(isc, to)
	if r := mismatched(blobs, "mirror again with Options.CheckBlobs"); len(r.Missing) != 1 || r.Missing[0].Repository != "lantern/store" || len(r.Missing[0].Blobs) == 0 {
		t.Errorf("%+v", r.Missing)
	}
	if r, err := runs(s, isc, to, checked, func(o *mirroring.Options) { o.DryRun = true }); err != nil || r.ToCopy.Bytes == 0 {
		t.Errorf("a dry run: %+v, %v", r, err)
	}
	s.Mirror.ResetLog()
	// The registry does not list the blob after it was sent again either.
	r, err := runs(s, isc, to, checked)
	mirrortest.Refused(t, err, advice.Partial)
	if len(r.Report.Failed) == 0 || !strings.Contains(r.Report.Failed[0].Reason, " and kept its own copy, which is missing") {
		t.Errorf("%+v", r.Report.Failed)
	}
	sent := slices.DeleteFunc(mirrortest.ContentRequests(s.Mirror), func(r rt.Request) bool { return r.Method != http.MethodPost })
	if len(sent) == 0 || slices.ContainsFunc(sent, func(r rt.Request) bool { return !strings.Contains(r.Path, "/lantern/store/") }) {
		t.Errorf("uploads: %+v", sent)
	}
	s.Mirror.Script()
	s.Verified(isc, to, read)
	s.Mirror.Script(rt.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: rt.WrongBytes()})
	mismatched(read, "mirror again with Options.ReadBlobs")
	r, err = runs(s, isc, to, reading)
	mirrortest.Refused(t, err, advice.Partial)
	if len(r.Report.Failed) == 0 || !strings.Contains(r.Report.Failed[0].Reason, "is damaged: its content has the digest") {
		t.Errorf("%+v", r.Report.Failed)
	}
}

// TestDamagedCache alters a byte of every file in the cache of the workspace: the next run reads that content again, with
// a configuration and with a plan, and succeeds.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, rt.Options{})
	isc := s.Path("imageset.yaml")
	lock, _ := s.PlanFile(isc, "plan.json")
	want, err := os.ReadFile(lock)
	fail.On(t, err)
	for prefix, change := range map[string]func(*mirroring.Options){"config": func(*mirroring.Options) {}, "plan": mirrortest.FromPlan(lock)} {
		damaged := 0
		for _, pattern := range []string{"blobs/sha256/*", "catalogs/*"} {
			files, err := filepath.Glob(filepath.Join(s.Workspace(), "cache", pattern))
			fail.On(t, err)
			for _, file := range files {
				text, err := os.ReadFile(file)
				fail.On(t, err)
				text[len(text)/2] ^= 1
				fail.On(t, os.WriteFile(file, text, 0o600))
				damaged++
			}
		}
		if damaged == 0 {
			t.Fatal("the cache is empty")
		}
		s.Mirrored(isc, s.Docker(prefix), change, func(o *mirroring.Options) { o.Env = s.NewEnv() })
		s.VerifyCatalog(prefix, mirrortest.Acme, 4)
	}
	s.PlanFile(isc, "plan.json")
	if again, err := os.ReadFile(lock); err != nil || !slices.Equal(want, again) {
		t.Errorf("the plan is another one: %v", err)
	}
}

// TestTakeover mirrors to a registry that oc mirror filled: every image but the catalogs is where its rules put it. The
// first run with the same configuration uploads nothing of them, and the objects have the names that clusters know.
func TestTakeover(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, rt.Options{})
	isc := s.Path("imageset.yaml")
	_, p := s.PlanFile(isc, "plan.json")
	var present []string
	for i := range p.Images {
		img := &p.Images[i]
		if img.Kind == plan.CatalogImage {
			continue
		}
		from, _, _ := strings.Cut(strings.TrimSuffix(img.Source, "@"+img.Digest.String()), "@")
		if at := strings.LastIndex(from, ":"); at > strings.LastIndex(from, "/") {
			from = from[:at]
		}
		tag := plan.ReferrersTag(img.Digest) // as oc mirror does for images without one
		if own := img.Tags[0]; !strings.HasPrefix(own, "sha256-") {
			tag = own
		}
		fail.On(t, s.Mirror.Client().Copy(t.Context(), s.Source.Client(), from, img.Digest.String(), "ocp/"+img.Repository, tag))
		present = append(present, "ocp/"+img.Repository)
	}
	s.Mirror.ResetLog()
	r := s.Mirrored(isc, s.Docker("ocp"), func(o *mirroring.Options) { o.Workspace = s.Path("new") })
	for _, request := range s.Mirror.Log() {
		if request.Kind() != "PUT manifest" && request.Kind() != "PUT blob" && request.Kind() != "PATCH upload" {
			continue
		}
		if slices.Contains(present, strings.TrimPrefix(request.Repository(), "/")) && !strings.HasSuffix(request.Path, ".image") { // a tag of its own
			t.Errorf("%s %s: the mirror had it", request.Method, request.Path)
		}
	}
	s.VerifyCatalog("ocp", mirrortest.Acme, 4)
	for _, file := range []string{"cs-operator-index-v4-20.yaml", "cc-operator-index-v4-20.yaml", "idms-operator-0.yaml", "itms-generic-0.yaml"} {
		if !slices.Contains(r.Resources.Files, file) {
			t.Errorf("no %s in %q", file, r.Resources.Files)
		}
	}
}
