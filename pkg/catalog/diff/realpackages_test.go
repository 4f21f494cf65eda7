package diff_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
)

// One text of a real package changes: exactly that change is reported.
func TestChangedRealPackages(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "  - kubecost-operator.v0.0.%d\n", i)
	}
	const head = "- name: kubecost-operator.v2.8.2\n  skips:\n"
	for name, tc := range map[string]struct {
		pkg, old, new string
		want          []string
	}{
		"a skipRange that becomes invalid": {pkg: "jumpstarter-operator", old: "'>=0.8.1 <0.9.0-rc.1'", new: "'<v0.9.0-rc.1'", want: []string{
			"~ package jumpstarter-operator",
			"  ~ channel alpha: 1 entry with other edges",
		}},
		"10,000 skips": {pkg: "kubecost-operator", old: head, new: head + many.String(), want: []string{
			"~ package kubecost-operator",
			"  ~ channel alpha: 1 entry with other edges",
			"  + edge of channel alpha: kubecost-operator.v0.0.0 -> kubecost-operator.v2.8.2 (skips)",
			"  + edge of channel alpha: kubecost-operator.v0.0.1 -> kubecost-operator.v2.8.2 (skips)",
			"  + edge of channel alpha: kubecost-operator.v0.0.10 -> kubecost-operator.v2.8.2 (skips)",
			"  + 9997 more edges of channel alpha",
		}},
		"a second head": {pkg: "jumpstarter-operator", old: "  replaces: jumpstarter-operator.v0.9.0-rc.2\n", want: []string{
			"~ package jumpstarter-operator",
			"  ~ channel alpha: head jumpstarter-operator.v0.9.0 -> jumpstarter-operator.v0.9.0, jumpstarter-operator.v0.9.0-rc.2, 1 entry with other edges",
		}},
		"build metadata alone": {pkg: "gatekeeper-operator-product", old: "version: 3.11.2+0.1718224960.p", new: "version: 3.11.2+0.1718224961.p", want: []string{
			"~ package gatekeeper-operator-product",
			"  ~ bundle gatekeeper-operator-product.v3.11.2-0.1718224960.p: version 3.11.2+0.1718224960.p -> 3.11.2+0.1718224961.p, olm.package +1 -1",
		}},
		"an empty image": {pkg: "3scale-community-operator", old: `"image": ""`, new: `"image": "quay.io/3scale/x:1"`, want: []string{
			"~ package 3scale-community-operator",
			"  ~ bundle 3scale-community-operator.v0.5.1: related images +1 -1",
		}},
		"an unknown property": {pkg: "3scale-community-operator", old: `"value": "4.15"`, new: `"value": "4.16"`, want: []string{
			"~ package 3scale-community-operator",
			"  ~ bundle 3scale-community-operator.v0.11.0: olm.maxOpenShiftVersion +1 -1",
		}},
		"a constraint": {pkg: "dbaas-operator", old: "Service Binding Operator is required", new: "needed", want: []string{
			"~ package dbaas-operator",
			"  ~ bundle dbaas-operator.v0.5.0: olm.constraint +1 -1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join(realCatalogs, tc.pkg, "catalog.*"))
			if err != nil || len(files) != 1 {
				t.Skip("there are no real catalogs beside the checkout")
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte(tc.old)) {
				t.Fatalf("the package does not have %q", tc.old)
			}
			of := func(text []byte) *catalog.Catalog {
				c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: text}}, catalog.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			before, after := of(text), of(bytes.Replace(text, []byte(tc.old), []byte(tc.new), 1))
			var b bytes.Buffer
			if err := diff.Compare(before, after).WriteText(&b, 10); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Join(tc.want, "\n")+"\n", b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
