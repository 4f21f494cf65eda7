package filter

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// TestRealCatalogs covers unusual packages of real catalogs, one each.
func TestRealCatalogs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	dir := "../../../../shared/catalogs"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("not present: ", dir)
	}
	c := read(t, dir)
	within := func(min, max string) imageset.Package {
		return imageset.Package{Range: imageset.Range{Min: min, Max: max}}
	}
	one := func(p imageset.Package, names ...string) imageset.Package {
		p.Channels = channels(names...)
		return p
	}
	for _, tc := range []struct {
		what, pkg string
		want      imageset.Package
		installed string
		kept, err string
	}{
		{
			what: "x.y.z-n is an ordinary release", pkg: "habana-ai-operator", want: one(within("1.22.2-32", "1.23.0"), "stable"),
			kept: "stable: v1.22.2-32=range v1.22.2-32-1=range v1.22.2-32-2=range v1.23.0-695=range",
		},
		{
			what: "build metadata is equal in precedence", pkg: "gatekeeper-operator-product", want: within("3.11.2", "3.11.2"),
			kept: "3.11: v3.11.2=range v3.11.2-0.1718224960.p=range v3.11.2-0.1721233953.p=range v3.11.2-0.1725401426.p=range",
		},
		{
			what: "replaces and skips of names that the channel does not have", pkg: "konflux-operator", want: imageset.Package{Channels: channels("stable-v0.2")},
			kept: "stable-v0.2: v0.2.1=head",
		},
		{
			what: "nearly everything hangs on the head's skips", pkg: "kubecost-operator", want: one(imageset.Package{}, "stable"), installed: "kubecost-operator.v3.1.0",
			kept: "stable: v3.1.0=installed(v3.1.0) v3.2.4=head",
		},
		{
			what: "a fork, whose other prong the newer one skips", pkg: "openshift-cert-manager-operator", want: one(within("1.15.0", "1.16.1"), "stable-v1"),
			kept: "stable-v1: cert-manager-operator.v1.15.0=range cert-manager-operator.v1.15.1=range cert-manager-operator.v1.16.0=range cert-manager-operator.v1.16.1=range",
		},
		{
			what: "forks and skips off the chain", pkg: "dell-csm-operator", want: within("1.8.0", "1.10.1"),
			kept: "stable: v1.8.0=range v1.8.1=range v1.9.0=range v1.9.1=range v1.10.0=range v1.10.1=range",
		},
		{
			what: "the default channel is neither the newest nor stable", pkg: "gpu-operator-certified", want: within("24.0.0", "24.9.9"),
			err: `its default channel "v26.3" is not kept; set defaultChannel to one of stable, v24.3, v24.6, v24.9, v25.10, v25.3`,
		},
		{
			what: "a bundle in many channels is kept in each that is followed", pkg: "gpu-operator-certified", want: one(imageset.Package{DefaultChannel: "stable"}, "stable", "v24.6", "v26.7"), installed: "gpu-operator-certified.v24.6.1",
			kept: "stable: v24.6.1=installed(v24.6.1) v26.7.0=head\nv24.6: v24.6.1=installed(v24.6.1) v24.6.2=head\nv26.7: v26.7.0=head",
		},
		{
			what: "a package in many files, with names unlike its own", pkg: "infinispan", want: imageset.Package{Channels: channels("2.2.x"), DefaultChannel: "2.2.x"}, installed: "infinispan-operator.v2.2.4",
			kept: "2.2.x: infinispan-operator.v2.2.4=installed(infinispan-operator.v2.2.4) infinispan-operator.v2.2.5=head",
		},
		{
			what: "deprecations follow their bundles", pkg: "external-dns-operator", want: one(within("1.2.0", "1.3.1"), "stable-v1", "stable-v1.2"),
			kept: "stable-v1: v1.2.0=range v1.2.1=range v1.2.2=range v1.2.3=range v1.2.4=range v1.3.0=range v1.3.1=range\nstable-v1.2: v1.2.0=range v1.2.1=range v1.2.2=range v1.2.3=range v1.2.4=range",
		},
	} {
		t.Run(tc.what, func(t *testing.T) {
			tc.want.Name = tc.pkg
			op := imageset.Operator{Catalog: "c", Packages: []imageset.Package{tc.want}}
			if tc.installed != "" {
				op = runs(op, tc.installed)
			}
			result, err := Apply(c, op)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range strings.Split(summary(result), "\n")[1:] {
				if line, ok := strings.CutPrefix(line, "  "); ok {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(tc.kept, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
			if err := validate.Catalog(result.Catalog); err != nil {
				t.Error(err)
			}
			for _, b := range result.Catalog.Packages[0].Bundles { // unknown properties and all else are unchanged
				if was := c.Package(tc.pkg).Bundle(b.Name); was != b {
					t.Errorf("%s is another object", b.Name)
				}
			}
		})
	}
}
