package planning_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// kept returns the bundles of a catalog of a plan as "package: bundle reason".
func kept(c plan.Catalog) (all []string) {
	for _, p := range c.Packages {
		for _, ch := range p.Channels {
			all = append(all, elements.Map(ch.Bundles, func(b plan.Bundle) string { return p.Name + ": " + b.Name + " " + b.Reason })...)
		}
	}
	return all
}

// TestDependencies plans dependencies, in two rounds and over two catalogs, and the upgrade paths of installed operators.
func TestDependencies(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	heads := s.Path("heads.yaml")
	given := func(o *planning.Options) {
		o.Name, o.Dependencies, o.Installed = "same", true, []string{s.Path("csv.json")}
	}
	file := s.WrittenPlan("options.json", heads, given)
	s.WrittenPlan("fields.json", s.Path("closed.yaml"), func(o *planning.Options) { o.Name = "same" })
	fail.Diff(t, s.Read("fields.json"), s.Read("options.json"))
	p := s.Planned(heads, given)
	zoo := []string{
		"heron: heron.v2.0.0 head", "otter: otter.v1.0.0 installed", "otter: otter.v1.1.1 installed", "otter: otter.v1.2.0 installed",
		"otter: otter.v1.3.0 head", "pond: pond.v1.0.0 dependency",
	}
	river := []string{"gravel: gravel.v1.0.0 dependency", "reed: reed.v1.0.0 head", "trout: trout.v0.2.0 dependency"}
	fail.Diff(t, [][]string{zoo, river}, [][]string{kept(p.Catalogs[0]), kept(p.Catalogs[1])})
	required := map[string]string{}
	for _, c := range p.Catalogs {
		for _, r := range c.Required {
			required[r.Bundle] = r.For
		}
	}
	for bundle, asker := range map[string]string{"pond.v1.0.0": "heron.v2.0.0", "trout.v0.2.0": "heron.v2.0.0", "gravel.v1.0.0": "trout.v0.2.0"} {
		if !strings.Contains(required[bundle], asker) {
			t.Errorf("%s is required by %q, want %s", bundle, required[bundle], asker)
		}
	}
	images := map[string]bool{}
	for _, img := range p.Images {
		images[img.Repository] = len(img.Reasons) > 0
	}
	for repository, planned := range map[string]bool{"river/trout": true, "river/gravel-bundle": true, "zoo/pond-bundle": true, "river/pike-bundle": false, "zoo/vole-bundle": false} {
		if images[repository] != planned {
			t.Errorf("%s is planned: %t", repository, images[repository])
		}
	}
	// Without an installed otter, the required one is kept as a dependency, with what keeps its channel continuous.
	alone := s.Planned(heads, func(o *planning.Options) { o.Dependencies = true })
	zoo = slices.Replace(zoo, 1, 4, "otter: otter.v1.1.1 dependency", "otter: otter.v1.2.0 continuity")
	fail.Diff(t, zoo, kept(alone.Catalogs[0]))
	if c := s.Planned(heads).Catalogs[0]; len(c.Required) > 0 || len(kept(c)) != 2 {
		t.Errorf("without options, kept %v", kept(c))
	}

	// After the source changed, a workspace that has never seen the catalogs builds them again from the plan, and a new
	// plan lists what no operator provides.
	s.Push(mirrortest.RiverRef, mirrortest.FileImage(t, v1.Config{Labels: map[string]string{image.ConfigsLabel: "/configs"}}, map[string]string{"configs/reed.yaml": s.Read("river/reed.yaml")}))
	s.Mirrored("", s.Docker("moved"), mirrortest.FromPlan(file), func(o *mirroring.Options) { o.Workspace = s.Path("fresh") })
	for i, name := range []string{mirrortest.Zoo, mirrortest.River} {
		if v := s.VerifyCatalog("moved", name, []int{6, 3}[i]); v.Catalog.Digest != p.Catalogs[i].Digest {
			t.Errorf("catalog %s is %s, want %s", name, v.Catalog.Digest, p.Catalogs[i].Digest)
		}
	}
	s.Write("csv.json", strings.ReplaceAll(s.Read("csv.json"), "otter", "badger"))
	notes := strings.Join(s.Planned(heads, given, func(o *planning.Options) { o.Workspace = s.Path("fresh") }).Notes, "\n")
	for _, note := range []string{"needs an operator that provides river.example.com/v1 Fish", "the installed operator badger"} {
		if !strings.Contains(notes, note) {
			t.Errorf("no note has %q:\n%s", note, notes)
		}
	}
}

// TestRecordedOperators plans without Installed after a run with it: the upgrade paths stay, on other hosts and over disks,
// too, and a plan without them is refused.
func TestRecordedOperators(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	heads, csv, to := s.Path("heads.yaml"), []string{s.Path("csv.json")}, s.Docker("ocp")
	fresh := s.WrittenPlan("fresh.json", heads)
	s.Mirrored(heads, to, func(o *mirroring.Options) { o.Installed = csv })
	s.Said()
	want := []string{"heron: heron.v2.0.0 head", "otter: otter.v1.0.0 installed", "otter: otter.v1.1.1 installed", "otter: otter.v1.2.0 installed", "otter: otter.v1.3.0 head"}
	at := func(o *planning.Options) { o.Destination = to }
	for name, change := range map[string]func(*planning.Options){"here": func(*planning.Options) {}, "another host": func(o *planning.Options) { o.Workspace, o.Destination = s.Path("other"), to }} {
		if diff := cmp.Diff(want, kept(s.Planned(heads, change).Catalogs[0])); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if said := strings.Join(s.Said(), "\n"); !strings.Contains(said, "1 operator (otter.v1.0.0) that clusters ran") {
			t.Errorf("%s: %s", name, said)
		}
	}
	run := func(change ...func(*mirroring.Options)) error {
		o := s.MirrorOptions("", to)
		for _, c := range change {
			c(&o)
		}
		_, err := mirroring.Run(t.Context(), o)
		return err
	}
	s.Mirror.ResetLog()
	mirrortest.Refused(t, run(mirrortest.FromPlan(fresh)), advice.Mismatch, "would strand 1 operator that clusters run (otter.v1.0.0), so nothing was published", "Options.ForgetInstalled")
	for _, r := range mirrortest.Requests(s.Mirror, http.MethodPut) {
		if strings.Contains(r, mirrortest.Zoo+"/manifests/v4.20") {
			t.Errorf("a refused run sent %s", r)
		}
	}

	disk := s.Exported(heads, "disk", func(o *mirroring.Options) { o.Workspace, o.Installed = s.Path("near"), csv })
	site := func(archive string, forget bool) error {
		return run(func(o *mirroring.Options) {
			o.From, o.Destination, o.Workspace, o.AllowOlder, o.ForgetInstalled = []string{archive}, s.Docker("site"), s.Path("site"), true, forget
		})
	}
	fail.On(t, site(disk, false))
	later := s.Exported(heads, "later", func(o *mirroring.Options) { o.Workspace, o.Full = s.Path("unknown"), true })
	mirrortest.Refused(t, site(later, false), advice.Mismatch, "would strand 1 operator that clusters run (otter.v1.0.0)")
	if err := site(later, true); err != nil {
		t.Error(err)
	}
	if err := run(mirrortest.FromPlan(fresh), func(o *mirroring.Options) { o.ForgetInstalled = true }); err != nil {
		t.Error(err)
	}
	if got := kept(s.Planned(heads, at).Catalogs[0]); len(got) != 2 {
		t.Errorf("a record is left: %v", got)
	}
}

// TestCatalogsAreReadOnce checks that later plans use the catalog in the cache, also without its layers, and that one that
// is damaged is not used.
func TestCatalogsAreReadOnce(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	one := s.Config("one.yaml", "  operators:\n  - {catalog: '"+mirrortest.ZooRef+"', packages: [{name: otter}]}\n")
	whole := s.Config("whole.yaml", "  operators:\n  - {catalog: '"+mirrortest.ZooRef+"', full: true}\n")
	planned := func(config, workspace string) (text string, blobs int) {
		t.Helper()
		s.Source.ResetLog()
		s.WrittenPlan("plan.json", config, func(o *planning.Options) { o.Env, o.Name, o.Workspace = s.NewEnv(), "same", s.Path(workspace) })
		return s.Read("plan.json"), s.Source.Requests()["GET blob"]
	}
	first, n := planned(one, "workspace")
	fresh, _ := planned(whole, "other")
	if n < 4 {
		t.Errorf("%d blobs were read, want the configs and layers of two platforms", n)
	}
	folder := s.Path("workspace/cache/catalogs")
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Fatalf("kept %v, %v", entries, err)
	}
	name := "workspace/cache/catalogs/" + entries[0].Name()
	snapshot := s.Read(name)
	for _, tc := range []struct {
		name, config, want string
		blobs              int
		change             func()
	}{
		{"again", one, first, 0, func() {}},
		{"a cut snapshot", one, first, 0, func() { s.Write(name, snapshot[:len(snapshot)/2]) }},
		{"another file", one, first, 0, func() { s.Write(name, strings.Repeat("x", len(snapshot))) }},
		{"another selection", whole, fresh, 0, func() {}},
		{"without layers", one, first, 2, func() { s.Remove("workspace/cache/blobs") }}, // two configs
		{"without snapshots", one, first, 2, func() { s.Remove("workspace/cache/catalogs") }},
	} {
		tc.change()
		text, blobs := planned(tc.config, "workspace")
		if diff := cmp.Diff(tc.want, text); diff != "" || tc.name != "without snapshots" && blobs != tc.blobs {
			t.Errorf("%s: %d blobs were read, want %d: %s", tc.name, blobs, tc.blobs, diff)
		}
		if tc.blobs == 0 && tc.config == one && s.Read(name) != snapshot {
			t.Errorf("%s: the snapshot is not replaced", tc.name)
		}
	}
}
