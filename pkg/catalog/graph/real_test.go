package graph

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// public returns public catalogs, if present.
func public(t *testing.T) *catalog.Catalog {
	t.Helper()
	dir := "../../../../shared/catalogs"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("not present: ", dir)
	}
	c, err := catalog.Read(t.Context(), os.DirFS(dir), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// In public catalogs every entry reaches the head of its channel automatically, in both
// generations; choosing updates by hand takes at most as many hops.
func TestRealChannels(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	for _, p := range public(t).Packages {
		for _, ch := range p.Channels {
			head := Inspect(ch.Entries).Heads[0]
			for _, gen := range []Generation{Classic, V1} {
				u := NewUpdates(p, View{Generation: gen, Channels: []string{ch.Name}})
				for _, e := range ch.Entries {
					at := Running(p.Bundle(e.Name))
					hops, ok := u.Reachable(at, head, Automatic)
					fewest, found := u.Reachable(at, head, AnyPath)
					if !ok || !found || len(fewest) > len(hops) {
						t.Errorf("%s, channel %s, %s: %s updates %v, by hand %v", p.Name, ch.Name, gen, e.Name, u.Walk(at), fewest)
					}
					for i, hop := range hops {
						if i > 0 && hop.From != hops[i-1].To || hop.Channel != ch.Name {
							t.Errorf("%s, channel %s, %s: %v", p.Name, ch.Name, gen, hops)
						}
					}
				}
			}
		}
	}
}

// Unusual packages of real catalogs, one each.
func TestRealPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	c := public(t)
	for _, tc := range []struct{ what, pkg, from, channel, classic, v1 string }{
		{
			"nearly everything hangs on the head's skips", "kubecost-operator", "v3.1.0", "stable",
			"stable skips v3.2.4", "stable skips v3.2.4",
		},
		{"the default channel has no path from it", "kubecost-operator", "v2.5.4", "stable", "", ""},
		{
			"another channel has", "kubecost-operator", "v2.5.4", "",
			"alpha skips v2.8.2", "alpha skips v2.8.2",
		},
		{
			"build metadata in the version that a skipRange holds", "gatekeeper-operator-product", "v3.14.3-0.1742934403.p", "stable",
			"stable skipRange v3.21.0", "stable skipRange v3.21.0",
		},
		{
			"skips of names that the channel does not have", "konflux-operator", "v0.0.4", "",
			"stable-v0.2 skips v0.2.1", "stable-v0.2 skips v0.2.1",
		},
		{
			"all versions are pre-releases", "habana-ai-operator", "v1.22.2-32-1", "",
			"stable skipRange v1.23.0-695, stable replaces v1.24.0-1007", "1.23 skipRange v1.23.0-695, stable replaces v1.24.0-1007",
		},
		{
			"pre-releases on the path", "jumpstarter-operator", "v0.8.0", "",
			"alpha skipRange v0.8.1, alpha replaces v0.9.0-rc.1, alpha replaces v0.9.0-rc.2, alpha replaces v0.9.0",
			"alpha skipRange v0.8.1, alpha replaces v0.9.0-rc.1, alpha replaces v0.9.0-rc.2, alpha replaces v0.9.0",
		},
		{
			"the default channel is neither the newest nor stable", "gpu-operator-certified", "v1.10.0", "",
			"v26.3 skipRange v26.3.3, stable replaces v26.7.0", "stable skipRange v26.7.0",
		},
		{
			"a fork with one skipped branch", "dell-csm-operator", "v1.10.0", "",
			"stable skips v1.10.2, stable replaces v1.11.3", "stable skips v1.10.2, stable replaces v1.11.3",
		},
		{
			"deprecated bundles on the path", "external-dns-operator", "v1.1.0", "",
			"stable-v1 skipRange v1.3.8", "stable-v1 skipRange v1.3.8",
		},
	} {
		p := c.Package(tc.pkg)
		var from *catalog.Bundle
		for _, b := range p.Bundles {
			if strings.HasSuffix(b.Name, "."+tc.from) {
				from = b
			}
		}
		if from == nil {
			t.Errorf("%s has no %s", tc.pkg, tc.from)
			continue
		}
		for gen, want := range map[Generation]string{Classic: tc.classic, V1: tc.v1} {
			hops := NewUpdates(p, View{Generation: gen, Channels: []string{tc.channel}}).Walk(Running(from))
			for i := range hops {
				_, hops[i].To, _ = strings.Cut(hops[i].To, ".")
			}
			if diff := cmp.Diff(want, steps(hops)); diff != "" {
				t.Errorf("%s: %s, %s: %s", tc.what, tc.pkg, gen, diff)
			}
		}
	}
}
