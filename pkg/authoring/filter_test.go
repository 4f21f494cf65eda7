package authoring_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/author"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestFilterCatalogs filters two catalogs, compares the result with the plan of the same configuration, and filters the
// result again.
func TestFilterCatalogs(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	filter := func(config, dir string, form folder.Form) *authoring.FilterResult {
		t.Helper()
		r, err := authoring.FilterCatalogs(t.Context(), authoring.FilterOptions{
			Env: s.Env, Workspace: s.Workspace(), Selection: selection.Selection{Config: config}, OutputDir: s.Path(dir), Files: form, Images: s.Path(dir + ".txt"),
		})
		fail.On(t, err)
		return r
	}
	r := filter(s.Path("closed.yaml"), "filtered", folder.JSON)
	p := s.Planned(s.Path("closed.yaml"))
	for i, c := range r.Catalogs {
		if diff := cmp.Diff(p.Catalogs[i].Packages, c.Packages); diff != "" {
			t.Errorf("%s: what plan keeps and what filter keeps: %s", c.Source, diff)
		}
		if v, err := validated(s, c.Folder); err != nil {
			t.Errorf("%s: %+v, %v", c.Folder, v, err)
		}
	}
	text, err := os.ReadFile(s.Path("filtered.txt"))
	if diff := cmp.Diff(r.Images, strings.Split(strings.TrimSpace(string(text)), "\n")); err != nil || diff != "" {
		t.Errorf("the file of images: %v, %s", err, diff)
	}
	config, err := os.ReadFile(s.Path("closed.yaml"))
	if err != nil || len(r.Catalogs) != 2 {
		t.Fatalf("%d catalogs, %v", len(r.Catalogs), err)
	}
	twice := string(config)
	for _, c := range r.Catalogs {
		twice = strings.ReplaceAll(twice, "catalog: "+c.Source, "catalog: dir://"+c.Folder)
	}
	again := filter(s.Write("twice.yaml", twice), "again", folder.YAML)
	for i, c := range again.Catalogs {
		same(s, r.Catalogs[i].Folder, c.Folder)
	}
	fail.Diff(t, r.Images, again.Images)

	whole := s.Config("whole.yaml", "  operators: [{catalog: 'dir://"+s.Path("zoo")+"', full: true}]\n")
	same(s, s.Path("zoo"), filter(whole, "whole", folder.YAML).Catalogs[0].Folder)
}

// TestDeprecateCatalog marks a bundle of a folder and removes the mark.
func TestDeprecateCatalog(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	at := func() string {
		t.Helper()
		return mustRender(s, authoring.RenderOptions{Catalogs: []string{s.Path("zoo")}})
	}
	before := at()
	o := authoring.DeprecateOptions{Folder: s.Path("zoo"), Package: "vole", Target: author.Target{Bundle: "vole.v1.0.0"}, Message: "dig elsewhere"}
	if err := authoring.DeprecateCatalog(t.Context(), o); err != nil || !strings.Contains(at(), "dig elsewhere") {
		t.Errorf("%v\n%s", err, at())
	}
	o.Message = ""
	if err := authoring.DeprecateCatalog(t.Context(), o); err != nil || at() != before {
		t.Errorf("%v, %s", err, cmp.Diff(before, at()))
	}
	o.Package = "voles"
	mirrortest.Refused(t, authoring.DeprecateCatalog(t.Context(), o), advice.Input, "voles")
}
