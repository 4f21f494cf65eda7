package verify_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestLayout finds a changed byte, a lost manifest, an unlisted image and a damaged index of a layout, with the images that
// they affect, and checks that a run with Options.CheckBlobs fixes them.
func TestLayout(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	dir := s.Path("layout")
	where := env.LayoutScheme + dir
	lock, p := s.PlanFile(s.Path("imageset.yaml"), "plan.json")
	copies := func(change ...func(*mirroring.Options)) *mirroring.Result {
		return s.Mirrored("", where, append(change, mirrortest.FromPlan(lock))...)
	}
	checked := func(o *mirroring.Options) { o.CheckBlobs = true }
	copies()
	listed := func(*verify.Options) {} // without a plan, the index says what should be there
	ways := map[string]func(*verify.Options){"without a plan": listed, "with the plan": byPlan(lock)}
	for _, way := range ways {
		s.Verified("", where, way)
	}
	damaged := func(change func(*verify.Options), words ...string) *verify.VerifiedLayout {
		t.Helper()
		r, err := runs(s, where, change)
		mirrortest.Refused(t, err, advice.Mismatch, words...)
		return r.Layout
	}
	img := p.Images[0]
	altered, lost, index := layout.BlobPath(p.Blobs[0].Digest), layout.BlobPath(img.Digest), filepath.Join(dir, "index.json")
	text, err := os.ReadFile(filepath.Join(dir, altered))
	fail.On(t, err)
	text[len(text)/2] ^= 1
	s.Write("layout/"+altered, string(text))
	fail.On(t, os.Remove(filepath.Join(dir, lost)))
	for name, way := range ways {
		r := damaged(way, "is damaged or incomplete", "Options.CheckBlobs")
		problems := map[string]string{}
		for _, d := range r.Damage {
			problems[d.File] = d.Problem
		}
		if len(problems) != 2 || !strings.Contains(problems[altered], "its digest is") || problems[lost] != "it is missing" {
			t.Errorf("%s: %v", name, problems)
		}
		if !slices.Contains(r.Broken, img.Repository+":"+img.Tags[0]) || len(r.Broken) >= r.Images || len(r.Missing) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}

	// A run replaces lost content, and damaged content if it checks blobs.
	copies()
	if r := damaged(listed); len(r.Damage) != 1 || r.Damage[0].File != altered {
		t.Errorf("after a run: %+v", r.Damage)
	}
	if r := copies(checked, func(o *mirroring.Options) { o.DryRun = true }); r.ToCopy == nil || r.ToCopy.Bytes != p.Blobs[0].Size {
		t.Errorf("a dry run: %+v", r.ToCopy)
	}
	copies(checked)
	s.Verified("", where, byPlan(lock))

	// With the plan, an image that is not listed is reported.
	s.Write("layout/index.json", `{"schemaVersion":2,"manifests":[]}`)
	s.Verified("", where)
	if r := damaged(byPlan(lock)); len(r.Missing) != len(p.Images) || !strings.Contains(r.Missing[0].Problem, "does not list it") || len(r.Damage) != 0 {
		t.Errorf("%+v", r)
	}
	// A damaged index, and none.
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(index, []byte(`{"schema`), 0o600) },
		func() error { return os.Remove(index) },
	} {
		fail.On(t, spoil())
		_, err := runs(s, where)
		mirrortest.Refused(t, err, advice.Mismatch, "index.json", "mirror to it again")
		copies()
		s.Verified("", where, byPlan(lock))
	}
}
