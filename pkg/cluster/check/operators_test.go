package check_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// checked runs a check of operators, which must succeed or find a mismatch.
func checked(s *mirrortest.Site, mismatch bool, o check.Options) *check.Result {
	s.T.Helper()
	o.Env = s.Env
	if o.Workspace == "" {
		o.Workspace = s.Path("fresh")
	}
	r, err := check.Run(s.T.Context(), o)
	if r == nil || mismatch != (err != nil) || err != nil && advice.KindOf(err) != advice.Mismatch {
		s.T.Fatalf("the check of %s %s %v: %v", o.Config, o.Plan, o.Catalogs, err)
	}
	return r
}

// route returns the upgrade path of the first operator as text.
func route(r *check.Result) string {
	o := r.Upgrades.Operators[0]
	text := o.Bundle + " " + fmt.Sprint(o.Outcome)
	for _, h := range o.Paths[0].Hops {
		text += " " + strings.TrimPrefix(h.To, "otter.")
	}
	return text
}

const complete = "otter.v1.0.0 reaches v1.1.1 v1.2.0 v1.3.0"

// TestOperators checks that the configuration, its plan in a workspace without the catalogs, and the mirror give the
// same result.
func TestOperators(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	ask := check.Options{Selection: selection.Selection{Installed: []string{s.Path("csv.json")}}, ClusterVersion: "4.18.2"}
	for _, tc := range []struct {
		name     string
		stranded bool
		route    string
	}{{"heads", true, "otter.v1.0.0 stranded"}, {"closed", false, complete}} {
		config := s.Path(tc.name + ".yaml")
		file := s.WrittenPlan(tc.name+".json", config)
		s.Mirrored(config, s.Docker(tc.name))
		ofConfig, ofPlan, ofMirror := ask, ask, ask
		ofConfig.Config, ofPlan.Plan = config, file
		ofMirror.Catalogs = []string{s.Mirror.Host + "/" + tc.name + "/" + mirrortest.Zoo + ":v4.20"}
		first, planned := checked(s, tc.stranded, ofConfig), checked(s, tc.stranded, ofPlan)
		s.Source.ResetLog() // the disconnected side has no source
		mirrored := checked(s, tc.stranded, ofMirror)
		if n := len(s.Source.Log()); n > 0 {
			t.Errorf("the check of the mirror's catalog sent %d requests to the source", n)
		}
		for of, r := range map[string]*check.Result{"the configuration": first, "the plan": planned, "the mirror": mirrored} {
			if got := route(r); got != tc.route {
				t.Errorf("%s: of %s: %s, want %s", tc.name, of, got, tc.route)
			}
		}
		// The plan does not contain the installed list of the configuration. The cluster reports the same operator.
		fail.Diff(t, first, planned)
	}
	// Here the files of clusters do not change what is kept. Dependencies are kept with their upgrade paths.
	dependencies := ask
	dependencies.Config, dependencies.Dependencies = s.Path("heads.yaml"), true
	if got := route(checked(s, false, dependencies)); got != complete {
		t.Errorf("with dependencies: %s, want %s", got, complete)
	}
	for words, o := range map[string]check.Options{
		"one thing must be checked": {},
		"absent.json":               {Plan: s.Path("absent.json"), ClusterVersion: "4.18.2"},
		"heads.yaml":                {Plan: s.Path("heads.yaml"), ClusterVersion: "4.18.2"},
		"absent.yaml":               {Selection: selection.Selection{Config: s.Path("absent.yaml")}},
		"set Options.Config, Options.Plan or a catalog": {Selection: selection.Selection{Config: s.Path("heads.yaml")}, Plan: s.Path("heads.json")},
		"Options.Dependencies is for":                   {Selection: selection.Selection{Dependencies: true}, Plan: s.Path("heads.json")},
		"requires Options.ClusterExtension":             {Plan: s.Path("heads.json"), ClusterCatalog: []string{s.Path("csv.json")}},
		"has no ClusterExtension":                       {Plan: s.Path("heads.json"), ClusterExtension: []string{s.Path("csv.json")}},
		"it is unknown what clusters run":               {Plan: s.Path("heads.json")},
		"a mirror cannot be checked together":           {Catalogs: []string{s.Docker("heads"), s.Path("zoo")}},
	} {
		o.Env, o.Workspace = s.Env, s.Path("fresh")
		_, err := check.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// clusterCatalogs returns the files of the ClusterCatalogs in the workspace, and their names by repository.
func clusterCatalogs(s *mirrortest.Site) (files []string, names map[string]string) {
	s.T.Helper()
	files, err := filepath.Glob(filepath.Join(s.Workspace(), "cluster-resources", "cc-*.yaml"))
	fail.On(s.T, err)
	names = map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail.On(s.T, err)
		var c struct {
			Metadata struct{ Name string }
			Spec     struct {
				Source struct{ Image struct{ Ref string } }
			}
		}
		if err := yaml.Unmarshal(text, &c); err != nil {
			s.T.Fatal(err)
		}
		ref, err := reference.Parse(c.Spec.Source.Image.Ref)
		fail.On(s.T, err)
		names[strings.TrimPrefix(ref.Path, "lake/")] = c.Metadata.Name
	}
	return files, names
}

// TestClusterExtensions resolves an extension with the ClusterCatalogs that were written, and with those that are
// derived from the configuration.
func TestClusterExtensions(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	text, err := os.ReadFile(s.Path("closed.yaml"))
	fail.On(t, err)
	config := s.Write("lake.yaml", strings.Replace(string(text), "  - catalog: registry", "  - targetCatalog: lake/animals\n    catalog: registry", 1))
	s.Mirrored(config, s.Docker("lake"))
	files, names := clusterCatalogs(s)
	animals, other := names["lake/animals"], names[mirrortest.River]
	if len(files) != 2 || animals == "" || other == "" || animals == other {
		t.Fatalf("the ClusterCatalogs are called %v", names)
	}
	extension, err := os.ReadFile(s.Path("extension.yaml"))
	fail.On(t, err)
	selecting := func(name string) string {
		return s.Write(name+".yaml", strings.TrimSuffix(string(extension), "}\n")+", selector: {matchLabels: {olm.operatorframework.io/metadata.name: "+name+"}}}\n")
	}
	ofConfig := selection.Selection{Config: config}
	for name, tc := range map[string]struct {
		o         check.Options
		extension string
		missing   bool // the catalog does not have the package
	}{
		"those it would emit":                            {o: check.Options{Selection: ofConfig}},
		"those that were emitted":                        {o: check.Options{Selection: ofConfig, ClusterCatalog: files}},
		"the mirror's catalog, by the name it has there": {o: check.Options{Catalogs: []string{s.Mirror.Host + "/lake/lake/animals:v4.20"}, ClusterCatalog: files}},
		"selected by name":                               {o: check.Options{Selection: ofConfig}, extension: selecting(animals)},
		"another":                                        {o: check.Options{Selection: ofConfig}, extension: selecting(other), missing: true},
		"another that was emitted":                       {o: check.Options{Selection: ofConfig, ClusterCatalog: files}, extension: selecting(other), missing: true},
	} {
		if tc.extension == "" {
			tc.extension = s.Path("extension.yaml")
		}
		tc.o.Workspace, tc.o.ClusterExtension = s.Workspace(), []string{tc.extension}
		r := checked(s, tc.missing, tc.o)
		switch got := r.Extensions; {
		case len(got) != 1 || tc.missing != (got[0].Error != ""):
			t.Errorf("%s: resolved %+v", name, got)
		case !tc.missing && (got[0].Resolution.Bundle != "otter.v1.3.0" || got[0].Resolution.Catalog != animals):
			t.Errorf("%s: resolved %+v, want otter.v1.3.0 of %s", name, got[0].Resolution, animals)
		}
	}
}

// TestCRDSafety compares definitions that only the images of the bundles have: in the sources, of a configuration and
// its plan, and in the mirror and an archive, when the sources are gone.
func TestCRDSafety(t *testing.T) {
	t.Parallel()
	s := mirrortest.Empty(t)
	labels, files := mirrortest.KelpBundle()
	catalog := `{"schema":"olm.package","name":"kelp","defaultChannel":"stable"}{"schema":"olm.channel","package":"kelp","name":"stable","entries":[` +
		`{"name":"kelp.v1.0.0"},{"name":"kelp.v1.1.0","replaces":"kelp.v1.0.0"},{"name":"kelp.v1.2.0","replaces":"kelp.v1.1.0"}]}`
	for i, schema := range []string{"{type: object}", "{type: object, properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string, minLength: 2}}}"} {
		const crd, csv = "manifests/fronds.crd.yaml", "manifests/kelp.clusterserviceversion.yaml"
		own := maps.Clone(files)
		delete(own, "metadata/dependencies.yaml")
		own[crd] = strings.Replace(own[crd], "{type: object}", schema, 1)
		own[csv] = strings.ReplaceAll(own[csv], "1.2.0", fmt.Sprintf("1.%d.0", i))
		ref := s.Push(fmt.Sprintf("registry.example.com/kelp/kelp-bundle:v1.%d.0", i), mirrortest.FileImage(t, v1.Config{Labels: labels}, own))
		catalog += fmt.Sprintf(`{"schema":"olm.bundle","package":"kelp","name":"kelp.v1.%d.0","image":%q,"properties":[`+
			`{"type":"olm.package","value":{"packageName":"kelp","version":"1.%d.0"}},{"type":"olm.gvk","value":{"group":"kelp.example.com","kind":"Frond","version":"v1"}},`+
			`{"type":"olm.csv.metadata","value":{"installModes":[{"type":"AllNamespaces","supported":true}]}}]}`, i, ref, i)
	}
	s.PushCatalog("registry.example.com/kelp/index:v1", fstest.MapFS{"kelp.json": {Data: []byte(catalog)}})
	config := s.Config("kelp.yaml", "  operators: [{catalog: 'registry.example.com/kelp/index:v1', full: true}]\n")
	file := s.WrittenPlan("plan.json", config)
	s.Mirrored(config, s.Docker("site/one"))
	disk, served := s.Exported(config, "disk"), s.Mirror.Host+"/site/one/kelp/index:v1"
	for name, o := range map[string]check.Options{
		"configuration": {Selection: selection.Selection{Config: config}, Workspace: s.Workspace()}, "plan": {Plan: file, Workspace: s.Workspace()},
		"mirror": {Catalogs: []string{served}}, "archive": {Catalogs: []string{disk}},
	} {
		s.Source.ResetLog()
		o.CRDSafety = true
		got := checked(s, true, o).CRDSafety
		if len(got.Refused) != 1 || len(got.Refused[0].Definitions) != 1 || got.Updates != 2 || len(got.Unread) > 0 {
			t.Fatalf("%s: got %+v", name, got)
		}
		refused, definition := got.Refused[0], got.Refused[0].Definitions[0]
		v := definition.Violations[0]
		if text := strings.Join([]string{refused.From, refused.To, definition.Name, string(v.Rule), v.Field, v.Version}, " "); text != "kelp.v1.1.0 kelp.v1.2.0 fronds.kelp.example.com minLength a v1" {
			t.Errorf("%s: got %s", name, text)
		}
		if n := len(s.Source.Log()); o.Catalogs != nil && n > 0 {
			t.Errorf("the check of the %s sent %d requests to the source", name, n)
		}
	}
	for words, o := range map[string]check.Options{
		"an archive cannot be checked together with other catalogs": {Catalogs: []string{disk, served}},
		s.Path("none"): {Catalogs: []string{s.Archive("none")}},
	} {
		o.Env, o.CRDSafety = s.Env, true
		_, err := check.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}
