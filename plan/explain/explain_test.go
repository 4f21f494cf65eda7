package explain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/explain"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

const packages = "../../pkg/plan/build/testdata/golden/packages.json"

// workspace returns a workspace with copies of plans.
func workspace(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(packages)
	fail.On(t, errors.Join(err, os.Mkdir(filepath.Join(dir, "plans"), 0o755)))
	for _, name := range names {
		fail.On(t, os.WriteFile(filepath.Join(dir, "plans", name), text, 0o600))
	}
	return dir
}

// TestExplain explains what is in a plan of a file and of a workspace.
func TestExplain(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(packages)
	fail.On(t, err)
	p, err := plan.Read(bytes.NewReader(text))
	fail.On(t, err)
	pkg := p.Catalogs[0].Packages[0]
	img, bundle := p.Images[0], pkg.Channels[0].Bundles[0].Name
	one := workspace(t, "one.json")
	for _, tc := range []struct {
		o       explain.Options
		bundles bool
	}{
		{explain.Options{Plan: packages, Name: pkg.Name}, true},
		{explain.Options{Workspace: one, Name: bundle}, true},
		{explain.Options{Workspace: one, Name: img.Source}, false},
		{explain.Options{Workspace: one, Name: env.RegistryScheme + img.Source}, false},
		{explain.Options{Plan: packages, Name: string(img.Digest)}, false},
	} {
		e, err := explain.Run(t.Context(), tc.o)
		if err != nil || (len(e.Bundles) > 0) != tc.bundles || (len(e.Images) > 0) == tc.bundles {
			t.Errorf("%s: %+v, %v", tc.o.Name, e, err)
		}
		for _, b := range e.Bundles {
			if !b.FeaturesUnknown || b.Features != nil {
				t.Errorf("features without a cache: %+v", b)
			}
		}
	}
	release := "../../pkg/plan/build/testdata/golden/releases.json"
	if text, err = os.ReadFile(release); err != nil {
		t.Fatal(err)
	}
	if p, err = plan.Read(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if e, err := explain.Run(t.Context(), explain.Options{Plan: release, Name: p.Releases[0].Version}); err != nil || len(e.Releases) == 0 {
		t.Errorf("%+v, %v", e, err)
	}

	two := workspace(t, "one.json", "two.json")
	for name, tc := range map[string]struct {
		o     explain.Options
		words []string
	}{
		"a similar name": {explain.Options{Plan: packages, Name: bundle + "9"}, []string{packages + " has no image, bundle, package", `did you mean "` + bundle + `", `}},
		"another name":   {explain.Options{Plan: packages, Name: "entirely-different"}, []string{"gantry plan lists its packages"}},
		"no workspace":   {explain.Options{Workspace: t.TempDir(), Name: "x"}, []string{"there is no plan in ", "Options.Plan"}},
		"two plans":      {explain.Options{Workspace: two, Name: "x"}, []string{"there are 2 plans in ", "two.json"}},
		"no file":        {explain.Options{Plan: "absent.json", Name: "x"}, []string{"Options.Plan", "no such file"}},
		"no plan":        {explain.Options{Plan: "explain_test.go", Name: "x"}, []string{"explain_test.go: "}},
		"two sources":    {explain.Options{Plan: packages, Selection: selection.Selection{Config: "x.yaml"}, Name: "x"}, []string{"cannot be combined"}},
		"no config":      {explain.Options{Plan: packages, Selection: selection.Selection{Dependencies: true}, Name: "x"}, []string{"are for a configuration"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := explain.Run(t.Context(), tc.o)
			mirrortest.Refused(t, err, advice.Input, tc.words...)
		})
	}
}

// TestExplainConfig plans a configuration without saving it. The features of its bundles are in the cache of the workspace.
func TestExplainConfig(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	o := explain.Options{Env: s.Env, Selection: selection.Selection{Config: s.Operators("lantern")}, Workspace: s.Workspace(), Name: "lantern"}
	e, err := explain.Run(t.Context(), o)
	if err != nil || len(e.Bundles) == 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, b := range e.Bundles {
		if b.FeaturesUnknown {
			t.Errorf("the features of %+v are unknown", b)
		}
	}
	if s.Exists("workspace/plans/imageset.json") {
		t.Error("the plan was saved")
	}
	o.Selection = selection.Selection{}
	_, err = explain.Run(t.Context(), o)
	mirrortest.Refused(t, err, advice.Input, "there is no plan in ")
	if _, err := planning.Make(t.Context(), planning.Options{Env: s.Env, Selection: selection.Selection{Config: s.Path("imageset.yaml")}, Workspace: s.Workspace()}); err != nil {
		t.Fatal(err)
	}
	saved, err := explain.Run(t.Context(), o)
	if err != nil || len(saved.Bundles) != len(e.Bundles) {
		t.Fatalf("of the saved plan: %+v, %v", saved, err)
	}
	for _, x := range []*explain.Result{e, saved} {
		if len(x.AskedFor) != 1 || x.AskedFor[0].File != s.Path("imageset.yaml") || x.AskedFor[0].Line != 7 || x.AskedFor[0].Without.Images != 5 || x.AskedFor[0].Without.Bytes == 0 {
			t.Errorf("it is asked for by %+v", x.AskedFor)
		}
	}
	fail.On(t, os.Remove(s.Path("imageset.yaml")))
	if gone, err := explain.Run(t.Context(), o); err != nil || len(gone.Bundles) == 0 || gone.AskedFor != nil {
		t.Errorf("without the file, the lines are %+v, %v", gone, err)
	}
}

// TestBillOfMaterials writes bills of materials of the plan of a workspace, and of a file.
func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	vars := map[string]string{}
	e := &env.Env{Getenv: func(name string) string { return vars[name] }}
	one := workspace(t, "one.json")
	write := func(o explain.BillOfMaterialsOptions) ([]byte, error) {
		o.Env, o.Version = e, "1.2.3"
		return explain.BillOfMaterials(o)
	}
	first, err := write(explain.BillOfMaterialsOptions{Workspace: one})
	second, err2 := write(explain.BillOfMaterialsOptions{Plan: packages, Format: explain.CycloneDXJSON})
	if err := errors.Join(err, err2); err != nil || !json.Valid(first) || !bytes.Equal(first, second) || !strings.Contains(string(first), "1.2.3") {
		t.Errorf("%v\n%s", err, first)
	}
	vars["SOURCE_DATE_EPOCH"] = "1700000000"
	var d struct{ CreationInfo struct{ Created string } }
	text, err := write(explain.BillOfMaterialsOptions{Plan: packages, Format: explain.SPDXJSON})
	if err := errors.Join(err, json.Unmarshal(text, &d)); err != nil || d.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("%v %s", err, d.CreationInfo.Created)
	}
	for _, wrong := range []string{"today", "-1", "999999999999"} {
		vars["SOURCE_DATE_EPOCH"] = wrong
		_, err = write(explain.BillOfMaterialsOptions{Plan: packages})
		mirrortest.Refused(t, err, advice.Input, "SOURCE_DATE_EPOCH", wrong)
	}
	vars = map[string]string{}
	_, err = write(explain.BillOfMaterialsOptions{Plan: packages, Format: "xml"})
	mirrortest.Refused(t, err, advice.Input, "cyclonedx-json or spdx-json")
	_, err = write(explain.BillOfMaterialsOptions{Plan: "none.json"})
	mirrortest.Refused(t, err, advice.Input, "none.json")
	_, err = write(explain.BillOfMaterialsOptions{Workspace: t.TempDir()})
	mirrortest.Refused(t, err, advice.Input, "there is no plan")
}
