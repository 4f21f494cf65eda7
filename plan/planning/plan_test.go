package planning_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestMake plans a configuration: saved or not, compared with a mirror, an archive and a layout, and without writing there.
func TestMake(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	made := func(change func(o *planning.Options)) (*planning.Result, error) {
		o := planning.Options{Env: s.Env, Selection: selection.Selection{Config: s.Path("ops.yaml")}, Workspace: s.Workspace()}
		change(&o)
		return planning.Make(t.Context(), o)
	}
	s.Config("ops.yaml", mirrortest.FirstMonth)
	trial, err := made(func(o *planning.Options) { o.MinAge = 24 * time.Hour })
	if err != nil || !trial.Trial || s.Exists("workspace/plans/ops.json") {
		t.Errorf("a trial was saved: %+v, %v", trial, err)
	}
	first, err := made(func(*planning.Options) {})
	if err != nil || first.Trial || first.ToCopy != nil || first.Resources != nil || !s.Exists("workspace/plans/ops.json") {
		t.Fatalf("%+v, %v", first, err)
	}
	if d := digest.FromString(s.Read("workspace/plans/ops.json")); d != first.Digest {
		t.Errorf("the saved plan is %s, want %s", d, first.Digest)
	}
	for _, destination := range []string{s.Docker("site"), s.Archive("disk"), "oci://" + s.Path("layout")} {
		r, err := made(func(o *planning.Options) { o.Destination = destination })
		if err != nil || r.Digest != first.Digest || r.ToCopy == nil || r.ToCopy.Bytes == 0 || r.ToCopy.Images != len(r.Plan.Images) || (r.Resources != nil) != strings.HasPrefix(destination, "docker") {
			t.Errorf("%s: %+v, %v", destination, r, err)
		}
	}
	if sent := mirrortest.Requests(s.Mirror, http.MethodPut, http.MethodPost, http.MethodPatch); len(sent) > 0 || s.Exists("disk") || s.Exists("layout") {
		t.Errorf("planning wrote: %v", sent)
	}
	s.Mirrored(s.Path("ops.yaml"), s.Docker("site"))
	if r, err := made(func(o *planning.Options) { o.Destination = s.Docker("site") }); err != nil || r.ToCopy.Bytes != 0 {
		t.Errorf("of what the mirror has: %+v, %v", r, err)
	}

	// The labels of images are read once: a plan with them sends no more requests than one without.
	requests := func(errata bool) (*planning.Result, int) {
		t.Helper()
		s.Source.ResetLog()
		r, err := made(func(o *planning.Options) { o.Errata = errata })
		fail.On(t, err)
		return r, len(s.Source.Log())
	}
	before, _ := requests(true)
	_, without := requests(false)
	again, with := requests(true)
	if diff := cmp.Diff(before.Errata, again.Errata); diff != "" || with > without || before.Errata.Read == 0 || first.Errata != nil {
		t.Errorf("%d requests with errata, and %d without: %+v %s", with, without, before.Errata, diff)
	}

	s.Source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	s.Remove("workspace")
	r, err := made(func(*planning.Options) {})
	mirrortest.Refused(t, err, advice.Partial)
	if r == nil || !slices.ContainsFunc(r.Plan.Missing, func(m plan.Missing) bool { return strings.Contains(m.Source, "lantern/store") }) {
		t.Errorf("an image is missing, and the result is %+v", r)
	}
}

// TestNewNotes plans twice: only what neither the last plan in the workspace nor the one in a file has is new.
func TestNewNotes(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	made := func(config, lock string) *planning.Result {
		t.Helper()
		r, err := planning.Make(t.Context(), planning.Options{Env: s.Env, Selection: selection.Selection{Config: s.Config("ops.yaml", config)}, Workspace: s.Workspace(), Lock: s.Path(lock)})
		fail.On(t, err)
		return r
	}
	first, again := made(mirrortest.FirstMonth, "absent.json"), made(mirrortest.FirstMonth, "absent.json")
	if len(first.NewNotes) == 0 || len(again.NewNotes) != 0 {
		t.Errorf("%q, then %q", first.NewNotes, again.NewNotes)
	}
	fail.Diff(t, first.Plan.Notes, first.NewNotes)
	fail.Diff(t, first.Plan.Notes, again.Plan.Notes)
	s.Write("plan.json", s.Read("workspace/plans/ops.json"))
	s.Remove("workspace")
	if r := made(mirrortest.FirstMonth, "plan.json"); len(r.NewNotes) != 0 {
		t.Errorf("the plan in the file has %q", r.NewNotes)
	}
	if r := made(mirrortest.SecondMonth, "plan.json"); len(r.NewNotes) == 0 || len(r.NewNotes) >= len(r.Plan.Notes) {
		t.Errorf("%d of %d notes are new", len(r.NewNotes), len(r.Plan.Notes))
	}
}

// TestMakeRefused checks options that contradict each other, before anything is requested.
func TestMakeRefused(t *testing.T) {
	t.Parallel()
	s := &mirrortest.Site{T: t, Dir: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	s.Env = s.NewEnv()
	config := s.Config("ops.yaml", mirrortest.StoreOnly)
	refuses := admission.Replacing{OnStrand: admission.OnStrandRefuse}
	for name, tc := range map[string]struct {
		o     planning.Options
		words string
	}{
		"no configuration": {planning.Options{}, "no configuration"},
		"a name":           {planning.Options{Name: "../x", Selection: selection.Selection{Config: config}}, `Options.Name "../x"`},
		"no destination":   {planning.Options{Replacing: refuses, Selection: selection.Selection{Config: config}}, "Options.OnStrand compares"},
		"older":            {planning.Options{Replacing: admission.Replacing{AllowOlder: true}, Destination: "docker://registry.invalid", Selection: selection.Selection{Config: config}}, "Options.AllowOlder is for Options.OnStrand"},
		"a layout":         {planning.Options{Replacing: refuses, Destination: "oci://" + s.Path("layout"), Selection: selection.Selection{Config: config}}, "oci"},
		"a format":         {planning.Options{Destination: "oci://" + s.Path("layout"), Selection: selection.Selection{Config: config, DestFormat: "docker"}}, "Options.DestFormat docker"},
		"a destination":    {planning.Options{Destination: "ftp://x", Selection: selection.Selection{Config: config}}, "ftp://x"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Env, tc.o.Workspace = s.Env, s.Workspace()
			_, err := planning.Make(t.Context(), tc.o)
			mirrortest.Refused(t, err, advice.Input, tc.words)
		})
	}
	if s.Exists("workspace") {
		t.Error("a workspace was created")
	}
}

// TestRewritten lists what was rewritten or converted in a plan, and the errata of its releases.
func TestRewritten(t *testing.T) {
	t.Parallel()
	from := digest.FromString("from")
	p := &plan.Plan{
		Images:   []plan.Image{{Source: "a"}, {Source: "b", RewrittenFrom: from}, {Source: "c", NotRewritten: "it is signed"}},
		Releases: []plan.Release{{Version: "4.20.1"}, {Version: "4.20.2", URL: "https://example.com/errata/2"}},
	}
	if diff := cmp.Diff([]planning.SmallerIndex{{Source: "b", RewrittenFrom: from}, {Source: "c", NotRewritten: "it is signed"}}, planning.SmallerIndexes(p)); diff != "" || planning.ConvertedImages(p) != nil {
		t.Error(diff)
	}
	p.Format = "oci"
	fail.Diff(t, []planning.ConvertedImage{{Source: "b", ConvertedFrom: from}}, planning.ConvertedImages(p))
	if all := planning.ReleaseErrata(p); len(all) != 1 || all[0].URL != "https://example.com/errata/2" {
		t.Errorf("%+v", all)
	}
}
