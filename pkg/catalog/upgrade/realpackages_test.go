package upgrade_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// realPackage reads a package of a public catalog, with old replaced by new unless old is empty.
func realPackage(t *testing.T, name, old, new string) *catalog.Catalog {
	t.Helper()
	const folder = "../../../../shared/catalogs"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there is no ../shared/catalogs beside the checkout")
	}
	files, err := filepath.Glob(filepath.Join(folder, name, "catalog.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: got %v, %v", name, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s does not have %q", name, old)
	}
	changed := strings.Replace(string(text), old, new, 1)
	c, err := catalog.Read(t.Context(), fstest.MapFS{"catalog": {Data: []byte(changed)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Real packages with a mirror that has only their heads.
func TestRealPackages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads real data")
	}
	for _, tc := range []struct {
		what, pkg string
		old, new  string // a text of the package and its replacement
		run       string // a bundle
		channel   string
		cluster   string   // its version
		want      []string // substrings of the result
		classic   string   // and only in this generation of OLM
		v1        string
	}{
		{what: "the bundle limits the cluster", pkg: "3scale-community-operator", run: "3scale-community-operator.v0.11.0", channel: "threescale-2.14", cluster: "4.19",
			want: []string{"at-head", "end max-openshift possible=false: while 3scale-community-operator.v0.11.0 is installed, the cluster cannot be updated to 4.19, only to 4.15"}},
		{what: "build metadata, updated by a skipRange", pkg: "gatekeeper-operator-product", run: "gatekeeper-operator-product.v3.14.3-0.1742934403.p", channel: "stable", want: []string{"reaches", "reaches: gatekeeper-operator-product.v3.21.0(skipRange)"}},
		{what: "equal precedence", pkg: "gatekeeper-operator-product", run: "gatekeeper-operator-product.v3.11.2", channel: "3.11", want: []string{"reaches: gatekeeper-operator-product.v3.11.2-0.1725401426.p(skips)"}},
		{what: "the head skips all", pkg: "kubecost-operator", run: "kubecost-operator.v3.0.0", channel: "stable", want: []string{"reaches: kubecost-operator.v3.2.4(skips)"}},
		{what: "no upgrade path in the channel", pkg: "kubecost-operator", run: "kubecost-operator.v2.5.4", channel: "stable", want: []string{"stranded", "the publisher offers no update for it", "fix: "}},
		{what: "olm.bundle.object, then olm.csv.metadata", pkg: "eda-k8s-operator", run: "eda-openshift-operator.v6.0.0", channel: "6.0", cluster: "4.19", want: []string{"reaches: eda-openshift-operator.v6.0.1(replaces)"}},
		{what: "a fork", pkg: "openshift-cert-manager-operator", run: "cert-manager-operator.v1.18.1", channel: "stable-v1", want: []string{"reaches: cert-manager-operator.v1.19.1(replaces)"}},
		{what: "names of another channel", pkg: "konflux-operator", run: "konflux-operator.v0.1.13", channel: "stable-v0.2", want: []string{"reaches: konflux-operator.v0.2.1(replaces)"}},
		{what: "a skipRange", pkg: "jumpstarter-operator", run: "jumpstarter-operator.v0.9.0-rc.1", channel: "alpha", old: "'>=0.9.0-rc.2 <0.9.0'", new: "'<0.9.0'", want: []string{"reaches: jumpstarter-operator.v0.9.0(skipRange)"}},
		{what: "an invalid skipRange", pkg: "jumpstarter-operator", run: "jumpstarter-operator.v0.9.0-rc.1", channel: "alpha", old: "'>=0.9.0-rc.2 <0.9.0'", new: "'<v0.9.0'", want: []string{"stranded", "fix: keep jumpstarter-operator.v0.9.0-rc.2: "}},
		{what: "two heads", pkg: "jumpstarter-operator", run: "jumpstarter-operator.v0.9.0-rc.1", channel: "alpha", old: "  replaces: jumpstarter-operator.v0.9.0-rc.2\n", classic: "OLM classic refuses updates from channel alpha, which has no single head", v1: "reaches: jumpstarter-operator.v0.9.0-rc.2(replaces) jumpstarter-operator.v0.9.0(skipRange)"},
		{what: "a cycle", pkg: "jumpstarter-operator", run: "jumpstarter-operator.v0.8.1-rc.1", channel: "alpha", old: "- name: jumpstarter-operator.v0.8.0\n", new: "- name: jumpstarter-operator.v0.8.0\n  replaces: jumpstarter-operator.v0.8.1\n", want: []string{"stranded", "there is no upgrade path to the head"}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			t.Parallel()
			c := realPackage(t, tc.pkg, tc.old, tc.new)
			p := c.Packages[0]
			kept := c
			if heads, err := filter.Apply(c, imageset.Operator{Catalog: "c", Packages: []imageset.Package{{Name: p.Name}}}); err == nil {
				kept = heads.Catalog
			}
			b := p.Bundle(tc.run)
			for generation, alone := range map[graph.Generation]string{graph.Classic: tc.classic, graph.V1: tc.v1} {
				o := installed.Operator{
					Generation: generation, Name: b.Name, Package: p.Name, Bundle: b.Name,
					Version: b.Version.String(), Release: b.Release, Channels: []string{tc.channel},
				}
				r, err := upgrade.Check([]installed.Operator{o}, []upgrade.Catalog{{Name: "c", Kept: kept, Source: c}}, upgrade.Options{ClusterVersion: tc.cluster})
				if err != nil {
					t.Fatal(err)
				}
				got := format(r.Operators[0])
				for _, want := range append([]string{alone}, tc.want...) {
					if !strings.Contains(got, want) {
						t.Errorf("%s: the result does not contain %q:\n%s", generation, want, got)
					}
				}
			}
		})
	}
}
