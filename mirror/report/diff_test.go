package report_test

import (
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestDiff compares configurations, plans, archives and image sets of a mirror with each other.
func TestDiff(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	stanza := func(packages, images string) string {
		return "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages: [" + packages + "]\n  additionalImages:\n" + images
	}
	const netcheck, gather = "  - name: images.example.net/tools/netcheck:1.4\n", "  - name: images.example.net/tools/must-gather:4.20\n"
	isc, to := s.Config("ocp.yaml", stanza("{name: lantern}", netcheck)), s.Docker("ocp")
	lock, _ := s.PlanFile(isc, "old.json")
	s.Mirrored(isc, to)
	disk := s.Exported(isc, "disk")
	s.Mirrored(s.Config("edge.yaml", "  additionalImages:\n"+gather), to, func(o *mirroring.Options) { o.Workspace = s.Path("edge") })
	compare := func(config, older, newer, name string) (*report.ContentDifference, error) {
		return report.Diff(t.Context(), report.DiffOptions{Env: s.NewEnv(), Selection: selection.Selection{Config: config}, Old: older, New: newer, Name: name, Workspace: s.Workspace()})
	}
	for _, pair := range []struct{ config, older, newer string }{{isc, to, ""}, {isc, lock, ""}, {"", lock, to}, {"", to, disk}} {
		if d, err := compare(pair.config, pair.older, pair.newer, ""); err != nil || !d.Empty() {
			t.Errorf("%+v: %+v, %v", pair, d, err)
		}
	}

	s.Config("ocp.yaml", stanza("{name: lantern}, {name: tidewater}", gather))
	different := func(config, older, newer, name string) *report.ContentDifference {
		t.Helper()
		d, err := compare(config, older, newer, name)
		if err != nil || d.Empty() {
			t.Fatalf("%+v, %v", d, err)
		}
		return d
	}
	d := different(isc, to, "", "")
	if len(d.Catalogs) != 1 || len(d.Catalogs[0].Packages) != 1 || d.Catalogs[0].Packages[0].Name != "tidewater" || d.Catalogs[0].Packages[0].Change != "added" ||
		d.NewBytes == 0 || d.RemovedBytes == 0 || len(d.Old.ImageSets) != 1 || d.Old.ImageSets[0].Name != "ocp" || d.Old.Kind != "mirror" || d.New.Kind != "configuration" {
		t.Errorf("the difference is %+v", d)
	}
	refused := func(config, older, newer, name string, words ...string) {
		t.Helper()
		_, err := compare(config, older, newer, name)
		mirrortest.Refused(t, err, advice.Input, words...)
	}
	// The last two revisions.
	refused("", to, "", "", "several image sets: edge, ocp", "Options.Name")
	refused("", to, "", "ocp", "only one revision")
	s.Mirrored(isc, to)
	revisions := different("", to, "", "ocp")
	if revisions.Old.ImageSets[0].Revision != 1 || revisions.New.ImageSets[0].Revision != 2 || revisions.NewBytes != d.NewBytes || revisions.RemovedBytes != d.RemovedBytes {
		t.Errorf("of the revisions, the difference is %+v, want the bytes of %+v", revisions, d)
	}
	// Only the other image set has must-gather in common.
	if all := different("", to, lock, "edge"); len(all.Removed) != 1 || len(all.Old.ImageSets) != 1 {
		t.Errorf("the difference is %+v", all)
	}
	refused(isc, to, "", "nosuch", "no record of the image set", "gantry status")
	refused(isc, s.Docker("nothing"), "", "", "has no records")
	refused("", s.Path("nosuch.json"), to, "", "nosuch.json")
	refused("", lock, "", "", "nothing to compare")
}

// TestStatus lists the image sets of a mirror, also if the record of one cannot be read.
func TestStatus(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	_, day := s.PlanFile(s.Images("images.example.net/tools/netcheck:1.4"), "day.json")
	_, more := s.PlanFile(s.Images("images.example.net/tools/netcheck:1.4", "images.example.net/tools/must-gather:4.20"), "more.json")
	s.Record("ocp", "day", day, more)
	s.Record("ocp", "night", day)
	status := func(name string, revisions bool) (*report.MirrorState, error) {
		e := s.NewEnv()
		e.RetryTimes = -1
		return report.Status(t.Context(), report.StatusOptions{Env: e, Mirror: s.Docker("ocp"), Name: name, Revisions: revisions})
	}
	all, err := status("", true)
	if err != nil || len(all.ImageSets) != 2 || len(all.Pending) > 0 || all.Total.Images != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if first := all.ImageSets[0]; first.Name != "day" || first.Number != 2 || first.Content.Images != 2 || len(first.Revisions) != 1 || first.Revisions[0].Content.Images != 1 {
		t.Errorf("%+v", first)
	}
	if one, err := status("night", false); err != nil || len(one.ImageSets) != 1 || one.ImageSets[0].Name != "night" || len(one.ImageSets[0].Revisions) > 0 {
		t.Errorf("%+v, %v", one, err)
	}
	s.Mirror.Script(registrytest.Rule{Path: "/manifests/night", Action: registrytest.Refuse(http.StatusInternalServerError, "UNKNOWN")})
	rest, err := status("", false)
	mirrortest.Refused(t, err, advice.Failure, "which writes its record again")
	if rest == nil || len(rest.ImageSets) != 1 || rest.ImageSets[0].Name != "day" {
		t.Errorf("%+v", rest)
	}
	s.Mirror.Script()
	_, err = status("evening", false)
	mirrortest.Refused(t, err, advice.Input, `"evening"`)
	_, err = report.Status(t.Context(), report.StatusOptions{Env: s.NewEnv(), Mirror: "file:///disk"})
	mirrortest.Refused(t, err, advice.Input, "docker://HOST[:PORT][/PREFIX]")
}

// TestDiffArchives compares the last two archives of a folder, and an earlier one with a plan.
func TestDiffArchives(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	const netcheck, gather = "images.example.net/tools/netcheck:1.4", "images.example.net/tools/must-gather:4.20"
	disk := s.Exported(s.Images(netcheck), "disk")
	first, _ := s.PlanFile(s.Path("imageset.yaml"), "first.json")
	compare := func(older, newer string) (*report.ContentDifference, error) {
		return report.Diff(t.Context(), report.DiffOptions{Env: s.NewEnv(), Old: older, New: newer, Workspace: s.Workspace()})
	}
	_, err := compare(disk, "")
	mirrortest.Refused(t, err, advice.Input)
	s.Exported(s.Images(netcheck, gather), "disk")
	for _, pair := range [][2]string{{disk, ""}, {first, disk}} {
		d, err := compare(pair[0], pair[1])
		if err != nil || len(d.Added) != 1 || len(d.Removed) > 0 || d.NewBytes == 0 || d.New.Kind != "archive" || d.New.Sequence != 2 || pair[1] == "" && d.Old.Sequence != 1 {
			t.Errorf("%q: %+v, %v", pair, d, err)
		}
	}
}

// TestDiffOptions checks what cannot be compared.
func TestDiffOptions(t *testing.T) {
	t.Parallel()
	config := selection.Selection{Config: "imageset.yaml"}
	for want, o := range map[string]report.DiffOptions{
		"nothing to compare with":                 {},
		"Options.Config and Options.New both say": {Selection: config, Old: "a.json", New: "b.json"},
		"a layout has no plan":                    {Old: "oci:///layout", New: "b.json"},
		"nothing to compare a.json with":          {Old: "a.json"},
		"absent.json":                             {Old: "absent.json", New: "b.json"},
	} {
		_, err := report.Diff(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, want)
	}
}

// TestPending lists runs that began to push and have no record, until a later run of the image set is recorded.
func TestPending(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	_, p := s.PlanFile(s.Images("images.example.net/tools/netcheck:1.4"), "day.json")
	s.Record("ocp", "day", p)
	to, err := site.OpenDestination(s.NewEnv(), s.Docker("ocp"), site.DestinationOptions{})
	fail.On(t, err)
	session, err := workspace.OpenSession(s.NewEnv(), s.Workspace())
	fail.On(t, err)
	defer session.Release()
	for name, runs := range map[string]int{"day": 0, "night": 3} {
		if _, err := setrecord.Announce(t.Context(), to.Registry().ImageSets(), session.Sources.Cache, setrecord.Pending{Name: name, Runs: runs}, nil, p.Write); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"": 1, "day": 0} {
		if r, err := report.Status(t.Context(), report.StatusOptions{Env: s.NewEnv(), Mirror: s.Docker("ocp"), Name: name}); err != nil || len(r.Pending) != want || want == 1 && r.Pending[0].Name != "night" {
			t.Errorf("%q: %+v, %v", name, r, err)
		}
	}
}

// TestComparedContent describes what was compared.
func TestComparedContent(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]report.ComparedContent{
		"plan p.json":                                     {Kind: "plan", Source: "p.json", Name: "ops"},
		`sequence 2 of "ops" in /disk`:                    {Kind: "archive", Source: "/disk", Name: "ops", Sequence: 2},
		"docker://m, ops (revision 1), edge (revision 2)": {Kind: "mirror", Source: "docker://m", ImageSets: []report.ComparedSet{{Name: "ops", Revision: 1}, {Name: "edge", Revision: 2}}},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
