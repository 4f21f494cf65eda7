package listing_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestMinAge checks that what shows a selection applies the minimum age of the configuration, and that the list has what
// operators declare.
func TestMinAge(t *testing.T) {
	t.Parallel()
	s := mirrortest.Empty(t)
	text := `{"schema":"olm.package","name":"kite","defaultChannel":"stable"}` +
		`{"schema":"olm.channel","package":"kite","name":"stable","entries":[{"name":"kite.v1.0.0"},{"name":"kite.v1.1.0","replaces":"kite.v1.0.0"}]}`
	for version, created := range map[string]time.Time{"1.0.0": time.Now().AddDate(0, 0, -30), "1.1.0": time.Now()} {
		bundle, err := registrytest.BundleImage("kite", version)
		fail.On(t, err)
		dated, err := mutate.CreatedAt(bundle, v1.Time{Time: created})
		fail.On(t, err)
		text += `{"schema":"olm.bundle","package":"kite","name":"kite.v` + version + `","image":"` + s.Push("registry.example.com/kites/bundle:v"+version, dated) +
			`","properties":[{"type":"olm.package","value":{"packageName":"kite","version":"` + version + `"}},` +
			`{"type":"olm.csv.metadata","value":{"annotations":{"features.operators.openshift.io/disconnected":"false","features.operators.openshift.io/fips-compliant":"true"}}}]}`
	}
	fail.On(t, os.Mkdir(s.Path("kites"), 0o700))
	s.Write("kites/catalog.json", text)
	catalog := "dir://" + s.Path("kites")
	installed := s.Write("csv.json", `{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"kite.v1.0.0","namespace":"kites"},"spec":{"version":"1.0.0"},"status":{"phase":"Succeeded"}}]}`)
	for age, head := range map[string]string{"": "kite.v1.1.0", "  minAge: 3d\n": "kite.v1.0.0"} {
		keep := selection.Selection{Config: s.Config("kites.yaml", age+"  operators:\n  - {catalog: '"+catalog+"', packages: [{name: kite}]}\n")}
		r, err := authoring.FilterCatalogs(t.Context(), authoring.FilterOptions{Env: s.Env, Workspace: s.Workspace(), Selection: keep, OutputDir: s.Path("filtered" + head)})
		fail.On(t, err)
		if got := r.Catalogs[0].Packages[0].Channels[0]; got.Head != head || len(got.Bundles) != 1 {
			t.Errorf("with %q, the filtered catalog has %+v", age, got)
		}
		drawing, err := listing.PackageGraph(t.Context(), listing.PackageGraphOptions{Env: s.Env, Workspace: s.Workspace(), Catalog: catalog, Package: "kite", Selection: keep})
		fail.On(t, err)
		var b bytes.Buffer
		if err := diagram.Write(&b, drawing, diagram.Text); err != nil || !strings.Contains(b.String(), "The mirror keeps 1 bundle in 1 channel.") {
			t.Errorf("with %q: %v\n%s", age, err, &b)
		}
		keep.Installed = []string{installed}
		c, _ := check.Run(t.Context(), check.Options{Env: s.Env, Workspace: s.Workspace(), Selection: keep}) // without the age, it strands the operator
		text, err := json.Marshal(c)
		if offered := bytes.Contains(text, []byte("kite.v1.1.0")); err != nil || offered != (age == "") {
			t.Errorf("with %q, the check found %s, %v", age, text, err)
		}
	}
	listed, err := listing.ListPackages(t.Context(), listing.PackagesOptions{Env: s.Env, Workspace: s.Workspace(), Catalog: catalog, Package: "kite"})
	fail.On(t, err)
	for _, b := range listed.Packages[0].Channels[0].Bundles {
		if b.Features == nil || cmp.Diff([]string{"fips-compliant"}, b.Features.Supported) != "" || !slices.Equal(b.Features.Unsupported, []string{"disconnected"}) {
			t.Errorf("%s declares %+v", b.Name, b.Features)
		}
	}
}
