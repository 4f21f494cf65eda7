package listing_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestListPackages lists the packages of a catalog, and the bundles of one, as an image and as a folder.
func TestListPackages(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	list := func(o listing.PackagesOptions) (*listing.CatalogListing, error) {
		o.Env, o.Workspace = s.Env, s.Workspace()
		return listing.ListPackages(t.Context(), o)
	}
	for _, catalog := range []string{mirrortest.ZooRef, s.Path("zoo")} {
		for _, bundles := range []bool{false, true} {
			got, err := list(listing.PackagesOptions{Catalog: catalog, Bundles: bundles})
			fail.On(t, err)
			var names []string
			for _, p := range got.Packages {
				text := p.Name + " " + p.DisplayName + ":"
				for _, c := range p.Channels {
					text += " " + c.Name + " " + c.Head + " " + c.Version
				}
				names = append(names, text)
			}
			want := []string{"heron Heron: stable heron.v2.0.0 2.0.0", "otter Otter: candidate otter.v1.4.0 1.4.0 stable otter.v1.3.0 1.3.0", "pond Pond: stable pond.v1.0.0 1.0.0", "vole Vole: stable vole.v1.0.0 1.0.0"}
			if !bundles {
				for i, name := range []string{"Heron", "Otter", "Pond", "Vole"} {
					want[i] = strings.Replace(want[i], name, "", 1)
				}
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("%s, bundles %v (-want +got):\n%s", catalog, bundles, diff)
			}
		}
		got, err := list(listing.PackagesOptions{Catalog: catalog, Package: "otter", Channel: "stable"})
		fail.On(t, err)
		want := []listing.OperatorBundle{{Name: "otter.v1.3.0", Version: "1.3.0"}, {Name: "otter.v1.2.0", Version: "1.2.0"}, {Name: "otter.v1.1.1", Version: "1.1.1"}, {Name: "otter.v1.1.0", Version: "1.1.0"}, {Name: "otter.v1.0.0", Version: "1.0.0", Deprecated: "1.0 is not maintained"}}
		if diff := cmp.Diff(want, got.Packages[0].Channels[0].Bundles); diff != "" || len(got.Packages[0].Channels) != 1 {
			t.Errorf("%s: the bundles of otter (-want +got):\n%s", catalog, diff)
		}
	}
	for words, o := range map[string]listing.PackagesOptions{
		`did you mean "otter"?`:  {Catalog: s.Path("zoo"), Package: "oter"},
		"gantry catalog list":    {Catalog: s.Path("zoo"), Package: "zebrafish"},
		`did you mean "stable"?`: {Catalog: s.Path("zoo"), Package: "otter", Channel: "stabel"},
		`package "otter" has no channel "4"; it has candidate, stable`: {Catalog: s.Path("zoo"), Package: "otter", Channel: "4"},
		"Options.Channel stable requires a package":                    {Catalog: s.Path("zoo"), Channel: "stable"},
		"no such file":      {Catalog: s.Path("absent")},
		"must be lowercase": {Catalog: "quay.io/UPPER/catalog:v1"},
	} {
		_, err := list(o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestCatalogVersions lists the versions that have catalogs, and the catalogs of one.
func TestCatalogVersions(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t, registrytest.Options{})
	e := mirrortest.UpdateEnv(t, "")
	conf := fmt.Sprintf("[[registry]]\nprefix = \"registry.redhat.io\"\nlocation = %q\ninsecure = true\n", server.Host)
	fail.On(t, os.WriteFile(e.Getenv("CONTAINERS_REGISTRIES_CONF"), []byte(conf), 0o600))
	image, err := registrytest.BundleImage("otter", "1.0.0")
	fail.On(t, err)
	for _, tag := range []string{"v4.9", "v4.20", "v4.19", "v4.20.1", "latest", "v4.19-123"} {
		if _, err := server.Client().Push(t.Context(), "redhat/redhat-operator-index", tag, image); err != nil {
			t.Fatal(err)
		}
	}
	o := listing.CatalogsOptions{Env: e, Workspace: t.TempDir()}
	versions, err := listing.CatalogVersions(t.Context(), o)
	if diff := cmp.Diff([]string{"4.20", "4.19", "4.9"}, versions); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	const index = "registry.redhat.io/redhat/redhat-operator-index"
	o.Version = "4.9"
	catalogs, err := listing.Catalogs(t.Context(), o)
	if diff := cmp.Diff([]string{index + ":v4.9"}, catalogs); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	o.Version = "4.8"
	_, err = listing.Catalogs(t.Context(), o)
	mirrortest.Refused(t, err, advice.Input, "4.8")

	if tagged, err := listing.CatalogOf(index, "4.20"); err != nil || tagged != index+":v4.20" {
		t.Errorf("the catalog is %s, %v", tagged, err)
	}
	for words, of := range map[string][2]string{
		"for a catalog without a tag": {index + ":v4.20", "4.20"},
		`Options.Version "4"`:         {index, "4"},
		"for a catalog in a registry": {"oci://x", "4.20"},
	} {
		_, err := listing.CatalogOf(of[0], of[1])
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestPackageGraph checks that the configuration may spell the name of the catalog differently, and what it keeps.
func TestPackageGraph(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	draw := func(o listing.PackageGraphOptions) (string, error) {
		o.Env, o.Workspace = s.Env, s.Workspace()
		drawing, err := listing.PackageGraph(t.Context(), o)
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		fail.On(t, diagram.Write(&b, drawing, diagram.Text))
		return b.String(), nil
	}
	config := s.Config("graph.yaml", "  operators:\n  - catalog: dir://"+s.Path("zoo")+"\n    packages: [{name: otter}]\n    installed: [{package: otter, version: 1.2.0}]\n")
	keep := selection.Selection{Config: config}
	for _, name := range []string{s.Path("zoo"), s.Path("zoo") + "/", "dir://" + s.Path("zoo")} {
		got, err := draw(listing.PackageGraphOptions{Catalog: name, Package: "otter", Selection: keep})
		if err != nil || !strings.Contains(got, "The mirror keeps 3 bundles") || !strings.Contains(got, "installed") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	got, err := draw(listing.PackageGraphOptions{Catalog: s.Path("zoo"), Package: "vole", Selection: keep})
	if err != nil || !strings.Contains(got, "The mirror keeps none of it") {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = draw(listing.PackageGraphOptions{Catalog: s.Path("zoo"), Package: "otter", Channels: []string{"candidate"}}); err != nil || strings.Contains(got, "otter.v1.1.1") {
		t.Errorf("%v\n%s", err, got)
	}
	releases := s.Write("clusters.json", `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","metadata":{"name":"version"},"status":{"history":[{"state":"Completed","version":"4.20.1"}]}}`)
	for words, o := range map[string]listing.PackageGraphOptions{
		"does not have catalog":       {Catalog: s.Path("river"), Package: "trout", Selection: keep},
		"Options.Dependencies is for": {Catalog: s.Path("zoo"), Package: "otter", Selection: selection.Selection{Dependencies: true}},
		`has no channel "fast"`:       {Catalog: s.Path("zoo"), Package: "otter", Channels: []string{"fast"}},
		`did you mean "otter"?`:       {Catalog: s.Path("zoo"), Package: "oter"},
		"no operators":                {Catalog: s.Path("zoo"), Package: "otter", Selection: selection.Selection{Installed: []string{releases}}},
	} {
		_, err := draw(o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

func TestConfiguredOperators(t *testing.T) {
	t.Parallel()
	if got := listing.ConfiguredOperators(nil); got != nil {
		t.Errorf("without a configuration: %v", got)
	}
	cfg := &imageset.Config{}
	cfg.Mirror.Operators = []imageset.Operator{{Installed: []imageset.Installed{{Package: "otter", Version: "1.0.0"}}}}
	got := listing.ConfiguredOperators(cfg)
	if len(got) != 2 || got[0].Package != "otter" || got[0].Generation != graph.Classic || got[1].Generation != graph.V1 {
		t.Errorf("operators: %+v", got)
	}
	for want, versions := range map[string][]string{"": nil, "4.20.1": {"4.20.1", "4.20.1"}} {
		s := &selection.Selected{}
		for _, v := range versions {
			s.Releases = append(s.Releases, installed.ClusterVersion{Version: v})
		}
		if got := listing.PlatformVersion(s); got != want {
			t.Errorf("the version of %v is %q", versions, got)
		}
		s.Releases = append(s.Releases, installed.ClusterVersion{Version: "4.20.1"}, installed.ClusterVersion{Version: "4.19.2"})
		if got := listing.PlatformVersion(s); got != "" || slices.Contains(versions, got) {
			t.Errorf("the version of clusters that differ is %q", got)
		}
	}
}

// TestBeside names the other catalogs of OpenShift, at their registry or at a copy.
func TestBeside(t *testing.T) {
	t.Parallel()
	fail.Diff(t, []string{"r.example.com/copy/redhat-operator-index:v4.20", "r.example.com/copy/certified-operator-index:v4.20", "r.example.com/copy/community-operator-index:v4.20"},
		listing.Beside("r.example.com/copy/redhat-marketplace-index:v4.20"))
	for _, catalog := range []string{"r.example.com/copy/other:v4.20", "r.example.com/redhat-operator-index", "dir://catalog"} {
		fail.Diff(t, []string(nil), listing.Beside(catalog))
	}
}
