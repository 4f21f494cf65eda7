package contents_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestForeignMirror lists a mirror that has no records of Gantry: what its registry lists, and what its catalogs say about it.
func TestForeignMirror(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	config := s.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: vole}]\n  additionalImages: [{name: registry.example.com/zoo/otter:v1.0.0}]\n")
	mirror := s.Docker("site")
	s.Mirrored(config, mirror)
	for _, ref := range s.Tags("site") {
		if repository, tag, _ := strings.Cut(ref, ":"); strings.Contains(repository, "gantry-") {
			s.Delete(repository + "/manifests/" + tag)
		}
	}
	s.PushMirror("site/openshift/release-images", "4.20.5-x86_64", "payload")
	of := func(words ...string) contents.Options {
		return contents.Options{Env: s.NewEnv(), Workspace: s.Workspace(), Mirrors: []string{mirror}, Words: words}
	}
	at := s.Mirror.Host + "/site/"
	packages, err := contents.Packages(t.Context(), of())
	fail.On(t, err)
	if p := packages.Packages; len(p) != 1 || p[0].Name != "vole" || p[0].Catalog != at+"zoo/operator-index:v4.20" || p[0].Place != mirror || p[0].OLMv1.Install != "yes" {
		t.Errorf("the packages are %+v", p)
	}
	catalogs, err := contents.Catalogs(t.Context(), of())
	fail.On(t, err)
	if c := catalogs.Catalogs; len(c) != 1 || c[0].Image != at+"zoo/operator-index:v4.20" || c[0].Packages != 1 {
		t.Errorf("the catalogs are %+v", c)
	}
	images, err := contents.Images(t.Context(), of())
	fail.On(t, err)
	var got []string
	for _, img := range images.Images {
		name, _, _ := strings.Cut(strings.TrimPrefix(img.Names[0], at), ":sha256-")
		got = append(got, fmt.Sprintf("%s %q %v", name, img.Kind, img.Packages))
	}
	fail.Diff(t, []string{`openshift/release-images:4.20.5-x86_64 "release" []`, `zoo/operator-index:v4.20 "catalog" []`, `zoo/otter:v1.0.0 "" []`, `zoo/vole-bundle "bundle" [vole]`}, got)
	if images, err = contents.Images(t.Context(), contents.Options{Env: s.NewEnv(), Workspace: s.Workspace(), Mirrors: []string{mirror}, Package: "vole"}); err != nil || len(images.Images) != 1 {
		t.Errorf("of the package, %+v, %v", images, err)
	}
	releases, err := contents.Releases(t.Context(), of("4.20*"))
	fail.On(t, err)
	if r := releases.Releases; len(r) != 1 || r[0].Version != "4.20.5" || r[0].Arch.Suffix() != "x86_64" || r[0].Image != at+"openshift/release-images:4.20.5-x86_64" {
		t.Errorf("the releases are %+v", r)
	}
	if said := strings.Join(s.Said(), "\n"); !strings.Contains(said, "has no record of an image set: what its registry lists is shown") {
		t.Errorf("noted %s", said)
	}
	_, err = contents.Files(t.Context(), of())
	mirrortest.Refused(t, err, advice.Input, "so that its files are unknown")
	// A registry that does not list its repositories needs the name of one.
	s.Mirror.Script(registrytest.Rule{Path: "/v2/_catalog", Action: registrytest.Status(http.StatusNotFound)})
	_, err = contents.Packages(t.Context(), of())
	mirrortest.Refused(t, err, advice.Input, "no packages were found in its registry")
	if hint := advice.Hint(err); !strings.Contains(hint, "such as docker://"+at+"redhat/redhat-operator-index:v4.20") {
		t.Errorf("the hint is %q", hint)
	}
}
