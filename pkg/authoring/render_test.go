package authoring_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// rendered renders catalogs, one object per line.
func rendered(s *mirrortest.Site, o authoring.RenderOptions) (string, error) {
	o.Env, o.Workspace = s.Env, s.Workspace()
	var b bytes.Buffer
	err := authoring.RenderCatalogs(s.T.Context(), o, func(m *catalog.Meta) error {
		defer b.WriteString("\n")
		return json.Compact(&b, m.Raw)
	})
	return b.String(), err
}

func mustRender(s *mirrortest.Site, o authoring.RenderOptions) string {
	s.T.Helper()
	text, err := rendered(s, o)
	if err != nil {
		s.T.Fatal(err)
	}
	return text
}

// validated validates a catalog and returns the result and the error.
func validated(s *mirrortest.Site, name string) (*authoring.Validation, error) {
	return authoring.ValidateCatalog(s.T.Context(), authoring.ValidateOptions{Env: s.Env, Workspace: s.Workspace(), Catalog: name})
}

func makeDir(s *mirrortest.Site, names ...string) {
	s.T.Helper()
	for _, name := range names {
		if err := os.MkdirAll(s.Path(name), 0o750); err != nil {
			s.T.Fatal(err)
		}
	}
}

func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in\n%s", word, text)
		}
	}
}

// TestRenderBundles makes a catalog from a bundle as described in docs/, from its image and from its folder.
func TestRenderBundles(t *testing.T) {
	t.Parallel()
	s := mirrortest.Empty(t)
	const ref = "registry.example.com/kelp/kelp-bundle:v1.2.0"
	labels, files := mirrortest.KelpBundle()
	s.Push(ref, mirrortest.FileImage(t, v1.Config{Labels: labels}, files))
	makeDir(s, "bundle/metadata", "bundle/manifests", "catalog")
	for name, text := range files {
		s.Write("bundle/"+name, text)
	}
	image := mustRender(s, authoring.RenderOptions{Catalogs: []string{ref}})
	// As with opm, the manifests are summarized only if that is requested and an image has them.
	migrated := mustRender(s, authoring.RenderOptions{Catalogs: []string{ref}, Migrate: true})
	folder := mustRender(s, authoring.RenderOptions{Catalogs: []string{s.Path("bundle")}})
	fail.Diff(t, folder, mustRender(s, authoring.RenderOptions{Catalogs: []string{s.Path("bundle")}, Migrate: true}))
	const objects, excerpt = `"olm.bundle.object"`, `"olm.csv.metadata"`
	for text, own := range map[string]string{image: objects, migrated: excerpt, folder: objects} {
		if strings.Contains(text, objects) == strings.Contains(text, excerpt) {
			t.Errorf("want either form in\n%s", text)
		}
		says(t, text, `"kelp.v1.2.0"`, own, `"olm.package.required"`, `"Frond"`, `"registry.example.com/kelp/anchor:v1"`, `"registry.example.com/kelp/manager:v1.2.0"`)
	}
	fail.Diff(t, []int{2, 0}, []int{strings.Count(image, `"`+ref+`"`), strings.Count(folder, "kelp-bundle")})
	begin, err := authoring.InitPackage(authoring.InitOptions{Package: "kelp", DefaultChannel: "stable"})
	fail.On(t, err)
	for _, bundle := range []string{image, migrated, folder} {
		s.Write("catalog/package.json", string(begin.Raw))
		s.Write("catalog/bundles.json", bundle)
		s.Write("catalog/channels.yaml", "")
		if v, err := validated(s, s.Path("catalog")); err == nil || v.Passed {
			t.Errorf("valid without a channel: %+v", v)
		}
		s.Write("catalog/channels.yaml", "schema: olm.channel\npackage: kelp\nname: stable\nentries:\n- name: kelp.v1.2.0\n")
		if v, err := validated(s, s.Path("catalog")); err != nil || v.Packages != 1 || v.Channels != 1 || v.Bundles != 1 {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if v, err := validated(s, ref); err == nil {
		t.Errorf("a bundle is valid as a catalog: %+v", v)
	}
	_, err = planning.Make(t.Context(), s.PlanOptions(s.Config("bundle.yaml", "  operators: [{catalog: '"+ref+"'}]\n")))
	mirrortest.Refused(t, err, advice.Input, ref, "bundle")
	fail.On(t, os.Remove(s.Path("bundle/manifests/kelp.clusterserviceversion.yaml")))
	_, err = rendered(s, authoring.RenderOptions{Catalogs: []string{s.Path("bundle")}})
	mirrortest.Refused(t, err, advice.Failure, "ClusterServiceVersion")
}

// kelpTemplate pushes three bundles and returns a list of them for templates.
func kelpTemplate(s *mirrortest.Site) string {
	s.T.Helper()
	for _, version := range []string{"1.2.0", "1.2.1", "1.3.0"} {
		labels, files := mirrortest.KelpBundle()
		const csv = "manifests/kelp.clusterserviceversion.yaml"
		files[csv] = strings.Replace(strings.ReplaceAll(files[csv], "1.2.0", version), "displayName: Kelp", "displayName: Kelp\n  description: Grows.", 1)
		delete(files, "metadata/dependencies.yaml")
		s.Push("registry.example.com/kelp/kelp-bundle:v"+version, mirrortest.FileImage(s.T, v1.Config{Labels: labels}, files))
		s.Push("registry.example.com/kelp/manager:v"+version, mirrortest.FileImage(s.T, v1.Config{}, map[string]string{"m": version}))
	}
	s.Push("registry.example.com/kelp/anchor:v1", mirrortest.FileImage(s.T, v1.Config{}, map[string]string{"a": ""}))
	const bundle = "  - image: registry.example.com/kelp/kelp-bundle:v"
	return "stable:\n  bundles:\n" + bundle + "1.2.1\n" + bundle + "1.3.0\n" + bundle + "1.2.0\n"
}

// TestTemplates renders templates whose bundles are in a registry, and mirrors from one of them, directly and over a disk.
func TestTemplates(t *testing.T) {
	t.Parallel()
	s := mirrortest.Empty(t)
	list := kelpTemplate(s)
	semver := s.Write("semver.yaml", "schema: olm.semver\n"+list)
	text := mustRender(s, authoring.RenderOptions{Catalogs: []string{semver}, Template: true})
	says(t, text, `"stable-v1.3"`, "Grows.", `"kelp.v1.2.1"`, `"skips"`, `"registry.example.com/kelp/kelp-bundle:v1.2.0"`, `"olm.bundle.object"`)
	if again := mustRender(s, authoring.RenderOptions{Catalogs: []string{semver}}); again != text {
		t.Error("a second run renders the template to something else")
	}
	makeDir(s, "rendered", "only", "empty", "composite")
	s.Write("rendered/catalog.json", text)
	if v, err := validated(s, s.Path("rendered")); err != nil {
		t.Errorf("%+v, %v", v, err)
	}
	// The file of a template is named, and a basic template beside a catalog is not rendered.
	s.Write("only/kites.yaml", "schema: olm.semver\n"+list)
	basic := s.Write("rendered/basic.yaml", "schema: olm.template.basic\nentries:\n- schema: olm.bundle\n  image: registry.example.com/kelp/absent:v1\n")
	for name, file := range map[string]string{semver: "semver.yaml", s.Path("only"): "kites.yaml", s.Path("rendered"): "basic.yaml"} {
		v, err := validated(s, name)
		if mirrortest.Refused(t, err, advice.Failure); !slices.ContainsFunc(v.Problems, func(p authoring.CatalogProblem) bool { return strings.HasSuffix(p.File, file) && p.Line == 1 }) {
			t.Errorf("the problems of %s are %+v", name, v.Problems)
		}
	}
	for words, o := range map[string]authoring.RenderOptions{
		"registry.example.com/kelp/absent:v1": {Catalogs: []string{basic}, Template: true},
		"file-based catalog":                  {Catalogs: []string{s.Path("rendered/catalog.json")}, Template: true},
		"missing.yaml: no such file":          {Catalogs: []string{"missing.yaml"}, Template: true},
		"need Options.Template":               {Catalogs: []string{semver}, Component: "x"},
	} {
		_, err := rendered(s, o)
		kind := advice.Input
		if o.Catalogs[0] == basic {
			kind = advice.Failure
		}
		mirrortest.Refused(t, err, kind, words)
	}
	checkComposite(s, list, semver, text)

	// A configuration can use a template.
	s.Write("empty/note.yaml", "schema: example.com/note\n")
	_, err := planning.Make(t.Context(), s.PlanOptions(s.Config("empty.yaml", "  operators: [{catalog: 'dir://"+s.Path("empty")+"'}]\n")))
	mirrortest.Refused(t, err, advice.Input, "has no packages")
	config := s.Config("imageset.yaml", "  operators: [{catalog: 'dir://"+semver+"', packages: [{name: kelp}]}]\n")
	s.Mirrored(config, s.Docker("direct"))
	s.Imported(s.Docker("disk"), s.Exported(config, "disk"))
	for _, prefix := range []string{"direct", "disk"} {
		list, err := s.Mirror.Repositories(prefix)
		fail.On(t, err)
		var names []string
		for _, r := range list {
			if name := strings.TrimPrefix(r.Name, prefix+"/"); !strings.HasPrefix(name, "gantry") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"kelp/anchor", "kelp/kelp-bundle", "kelp/manager", "semver.yaml"}, names); diff != "" {
			t.Errorf("%s: %s", prefix, diff)
		}
	}
}

// checkComposite checks that a composite template writes what opm writes.
func checkComposite(s *mirrortest.Site, list, semver, text string) {
	t := s.T
	s.Write("composite/semver.yaml", "schema: olm.semver\n"+list)
	s.Write("composite/catalogs.yaml", `schema: olm.composite.catalogs
catalogs:
- {name: v4.20, destination: {workingDir: v4.20}, builders: [olm.builder.semver]}
- {name: v4.21, destination: {workingDir: v4.21}, builders: [olm.builder.semver, olm.builder.custom]}
`)
	component := func(name, builder, config string) string {
		return "- name: " + name + "\n  destination: {path: kelp}\n  strategy: {name: s, template: {schema: " + builder + ", config: {" + config + "}}}\n"
	}
	composite := s.Write("composite/composite.yaml", "schema: olm.composite\ncomponents:\n"+component("v4.20", "olm.builder.semver", "input: semver.yaml, output: catalog.yaml")+
		component("v4.21", "olm.builder.semver", "input: semver.yaml, output: catalog.yaml"))
	template := authoring.RenderOptions{Env: s.Env, Workspace: s.Workspace(), Catalogs: []string{composite}, Template: true}
	_, err := rendered(s, template)
	mirrortest.Refused(t, err, advice.Input, "v4.20, v4.21")
	one := template
	one.Component = "v4.21"
	if got := mustRender(s, one); got != text {
		t.Error("the component differs from its template")
	}
	files, err := authoring.RenderComponents(t.Context(), authoring.RenderComponentsOptions{RenderOptions: template, OutputDir: s.Path("out")})
	if diff := cmp.Diff([]string{s.Path("out/v4.20/kelp/catalog.yaml"), s.Path("out/v4.21/kelp/catalog.yaml")}, files); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	for _, file := range files {
		if got := mustRender(s, authoring.RenderOptions{Catalogs: []string{file}}); got != text {
			t.Errorf("%s differs from its template", file)
		}
	}
	other := template
	other.Catalogs = []string{semver}
	_, err = authoring.RenderComponents(t.Context(), authoring.RenderComponentsOptions{RenderOptions: other, OutputDir: s.Path("out")})
	mirrortest.Refused(t, err, advice.Input, "not a composite template")
	s.Write("composite/composite.yaml", "schema: olm.composite\ncomponents:\n"+component("v4.21", "olm.builder.custom", "command: touch, output: x"))
	_, err = rendered(s, template)
	mirrortest.Refused(t, err, advice.Input, "runs a command")
	fail.On(t, os.Remove(s.Path("composite/catalogs.yaml")))
	_, err = rendered(s, template)
	mirrortest.Refused(t, err, advice.Input, "composite/catalogs.yaml")
}
