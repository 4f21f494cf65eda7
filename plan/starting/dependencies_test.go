package starting_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/starting"
)

// openShift returns a site whose registry.redhat.io has the zoo as the catalog of Red Hat, and the river as the
// certified one, for OpenShift 4.20.
func openShift(t *testing.T) *mirrortest.Site {
	t.Helper()
	s := mirrortest.Catalogs(t)
	s.Write("registries.conf", registrytest.RegistriesConf(s.Source.Host, []string{"registry.redhat.io", "registry.example.com", "quay.example.org"}, s.Source.Host))
	for name, from := range map[string]string{"redhat": "zoo", "certified": "river"} {
		files := fstest.MapFS{}
		names, err := filepath.Glob(s.Path(from) + "/*")
		fail.On(t, err)
		for _, file := range names {
			text, err := os.ReadFile(file)
			fail.On(t, err)
			files[filepath.Base(file)] = &fstest.MapFile{Data: text, Mode: 0o644}
		}
		s.PushCatalog("registry.redhat.io/redhat/"+name+"-operator-index:v4.20", files)
	}
	return s
}

// TestBeside adds what an operator requires from a catalog beside its own: heron needs a Fish, which trout of the certified
// catalog brings.
func TestBeside(t *testing.T) {
	t.Parallel()
	s := openShift(t)
	const redHat, certified = "registry.redhat.io/redhat/redhat-operator-index:v4.20", "registry.redhat.io/redhat/certified-operator-index:v4.20"
	want := `  - catalog: ` + redHat + `
    # Also the operators that the selected ones require.
    dependencies: true
    packages:
    # stable has 2.0.0.
    # Without minVersion, the newest version. With it, also the newer ones, for updates from there.
    - name: heron
      channels:
      - name: stable
  # What operators of other catalogs require.
  - catalog: ` + certified + `
    dependencies: true
    packages:
    # Required: bundle "heron.v2.0.0" of ` + redHat + ` needs an operator that provides river.example.com/v1 Fish
    - name: trout
      channels:
      - name: stable
`
	check := func(r *starting.Result, want string) {
		t.Helper()
		if !strings.HasSuffix(string(r.YAML), want) || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "package trout of "+certified+" is selected, too: bundle") {
			t.Errorf("the notes are %q of\n%s\nwant\n%s", r.Notes, r.YAML, want)
		}
		p := s.Planned(s.Write("made.yaml", string(r.YAML)))
		if notes := slices.DeleteFunc(p.Notes, expected.MatchString); len(notes) > 0 {
			t.Errorf("the plan has the notes %q", notes)
		}
	}
	o := starting.Options{Env: s.NewEnv(), Workspace: s.Workspace(), Catalogs: []string{redHat}, Operators: []string{"heron"}}
	r, err := starting.Configuration(t.Context(), o)
	fail.On(t, err)
	check(r, want)
	// A named catalog without operators is beside, too.
	o.Env, o.Catalogs = s.NewEnv(), []string{redHat, mirrortest.RiverRef}
	r, err = starting.Configuration(t.Context(), o)
	if fail.On(t, err); len(r.Config.Mirror.Operators) != 2 {
		t.Errorf("with both catalogs:\n%s", r.YAML)
	}
	// What a cluster runs, with a catalog without installed operators.
	draft := func() *starting.Draft {
		op := imageset.Operator{Catalog: mirrortest.ZooRef, Packages: []imageset.Package{{Name: "heron"}}}
		return &starting.Draft{
			Config: &imageset.Config{Mirror: imageset.Mirror{Operators: []imageset.Operator{op}}}, Comments: map[string]string{"mirror.operators[0].packages[0]": "Installed: heron.v2.0.0"},
			Beside: []string{mirrortest.ZooRef, certified},
		}
	}
	r, err = starting.FromDraft(t.Context(), starting.Options{Env: s.NewEnv(), Workspace: s.Workspace()}, draft())
	fail.On(t, err)
	check(r, strings.NewReplacer("    # stable has 2.0.0.\n    # Without minVersion, the newest version. With it, also the newer ones, for updates from there.\n", "    # Installed: heron.v2.0.0\n",
		"heron\n      channels:\n      - name: stable\n", "heron\n", redHat, mirrortest.ZooRef).Replace(want))
	unread, err := starting.FromDraft(t.Context(), starting.Options{Unread: true}, draft())
	if fail.On(t, err); len(unread.Notes) > 0 || strings.Contains(string(unread.YAML), "dependencies") {
		t.Errorf("without catalogs, the notes are %q of\n%s", unread.Notes, unread.YAML)
	}
}

// TestMissing explains in a comment what no catalog has, and where it usually is.
func TestMissing(t *testing.T) {
	t.Parallel()
	s := openShift(t)
	e := s.NewEnv()
	e.RetryTimes = -1
	missing := `    # Missing: bundle "heron.v2.0.0" of CATALOG needs an operator that provides river.example.com/v1 Fish: `
	for _, tc := range []struct {
		beside  []string
		comment string
	}{
		{nil, "For OpenShift, it is usually in one of the catalogs that gantry list catalogs --version shows, otherwise in\n    # quay.io/operatorhubio/catalog:latest. Add the catalog to operators.\n"},
		{[]string{"127.0.0.1:1/lost:v1"}, "Look for it in 127.0.0.1:1/lost:v1 ("},
		{[]string{mirrortest.ZooRef, "registry.redhat.io/redhat/absent:v1", "registry.redhat.io/redhat/redhat-operator-index:v4.20"}, "Add the catalog of its publisher to operators.\n"},
	} {
		d := &starting.Draft{Config: &imageset.Config{}, Comments: map[string]string{}, Beside: tc.beside}
		d.Config.Mirror.Operators = []imageset.Operator{{Catalog: mirrortest.ZooRef, Dependencies: true, Packages: []imageset.Package{{Name: "heron"}}}}
		r, err := starting.FromDraft(t.Context(), starting.Options{Env: e, Workspace: s.Workspace()}, d)
		fail.On(t, err)
		text := string(r.YAML)
		if !strings.Contains(text, strings.Replace(missing, "CATALOG", mirrortest.ZooRef, 1)) || !strings.Contains(text, "    # "+tc.comment) || len(r.Notes) != 1 || len(r.Config.Mirror.Operators) != 1 {
			t.Errorf("with %v, the notes are %q of\n%s", tc.beside, r.Notes, text)
		}
	}
	// Catalogs that cannot be read do not keep the draft of a cluster from being written.
	d := &starting.Draft{Config: &imageset.Config{Mirror: imageset.Mirror{Operators: []imageset.Operator{{Catalog: "127.0.0.1:1/lost:v1", Packages: []imageset.Package{{Name: "heron"}}}}}}}
	r, err := starting.FromDraft(t.Context(), starting.Options{Env: e, Workspace: s.Workspace()}, d)
	if fail.On(t, err); len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "what the operators require was not checked: ") {
		t.Errorf("the notes are %q", r.Notes)
	}
}
