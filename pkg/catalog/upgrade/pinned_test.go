package upgrade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
)

// What becomes of a ClusterExtension whose range lies below what runs, and of one
// that runs a version which the catalog has by another name.
func TestBelowWhatRuns(t *testing.T) {
	t.Parallel()
	c := content(t, chain)
	pinned, loose, certified, kept := v1("1.3.0"), v1("1.4.0"), v1("1.3.0"), v1("1.2.0")
	pinned.Range, loose.Range, certified.Range, kept.Range = "1.1.0", ">=1.0.0", "1.1.0", "<1.3.0"
	certified.SelfCertified = true
	renamed, behind, head := v1("1.1.0"), v1("1.0.0"), v1("1.3.0")
	renamed.Bundle, behind.Bundle, head.Bundle = "old.v1.1.0", "old.v1.0.0", "old.v1.3.0"
	behind.Range = "1.0.0"
	for name, test := range map[string]struct {
		operator installed.Operator
		want     string
	}{
		"pinned lower": {pinned, "stranded\nc/ stranded:\n  OLM v1 resolves nothing: the range 1.1.0 of the ClusterExtension leaves out what runs, and nothing in the range is an update of it\n" +
			"  mend: set spec.source.catalog.version of the ClusterExtension ext to a range that 1.3.0 lies in"},
		"past the mirror":          {loose, "ahead\nc/ ahead:\n  it is not older than p.v1.3.0, the newest that the mirror has for it; it is left alone; since the catalog does not have it, OLM v1 reports that it finds no bundle"},
		"the head of the range":    {kept, "at-head\nc/ at-head:\n  it runs the head"},
		"downgraded":               {certified, "downgraded\nc/ downgraded: p.v1.1.0()\n  it is downgraded to p.v1.1.0, the newest that the ClusterExtension may have of the mirror: its upgradeConstraintPolicy is SelfCertified"},
		"by another name":          {renamed, "reaches\nc/ reaches: p.v1.1.0() p.v1.2.0(replaces) p.v1.3.0(replaces)\n  it gets to the head p.v1.3.0"},
		"and pinned":               {behind, "reaches\nc/ reaches: p.v1.0.0()\n  it gets to the head p.v1.0.0"},
		"the head by another name": {head, "reaches\nc/ reaches: p.v1.3.0()\n  it gets to the head p.v1.3.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := upgrade.Check([]installed.Operator{test.operator}, []upgrade.Catalog{{Name: "c", Kept: c, Source: c}}, upgrade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, say(r.Operators[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The head may lie in the skipRange of an entry of the same precedence, which OLM
// classic then goes to, and maybe back.
func TestPastTheHead(t *testing.T) {
	t.Parallel()
	there := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0~<1.1.0 p.v1.1.0+1<p.v1.1.0~<1.1.0")
	back := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0~<=1.1.0 p.v1.1.0+1<p.v1.1.0~<1.1.0")
	for name, test := range map[string]struct {
		catalog upgrade.Catalog
		from    string
		want    string
	}{
		"at the head": {upgrade.Catalog{Name: "c", Kept: there}, "1.1.0+1", "at-head\nc/stable at-head:\n  it runs the head"},
		"to it and back": {upgrade.Catalog{Name: "c", Kept: back}, "1.0.0",
			"reaches\nc/stable reaches: p.v1.1.0+1(skipRange)\n  it gets to the head p.v1.1.0+1; OLM classic does not rest there, since the skipRange of p.v1.1.0 takes it in: it goes there and back, again and again"},
		"from it and back": {upgrade.Catalog{Name: "c", Kept: back}, "1.1.0+1",
			"at-head\nc/stable at-head:\n  it runs the head; OLM classic does not rest there, since the skipRange of p.v1.1.0 takes it in: it goes there and back, again and again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := upgrade.Check([]installed.Operator{classic(test.from, "stable")}, []upgrade.Catalog{test.catalog}, upgrade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, say(r.Operators[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A mend that names a version must be one that the configuration takes: of two
// channels only one may have it.
func TestMendNamesTheChannel(t *testing.T) {
	t.Parallel()
	source := content(t, chain, "beta: p.v0.9.0 p.v0.9.1<p.v0.9.0")
	kept := keep(t, source, "packages: [{name: p}]")
	a := check(t, v1("1.0.0"), kept, source)
	want := []upgrade.Mend{{
		Catalog: "c", Package: "p", Channel: "stable", Keep: []string{"p.v1.1.0", "p.v1.2.0"}, MinVersion: "1.1.0",
		Message: "keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0} to installed of the catalog in the configuration, or set minVersion: 1.1.0 of channel stable, with the other channels named beside it",
	}}
	if diff := cmp.Diff(want, a.Routes[0].Mends); diff != "" {
		t.Error(diff)
	}
	// Bundles of two channels have no minVersion in common.
	source = content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0", "fast: p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0")
	a = check(t, v1("1.0.0"), keep(t, source, "packages: [{name: p, channels: [{name: fast, minVersion: 1.3.0}, {name: stable, minVersion: 1.0.0, maxVersion: 1.0.0}]}]"), source)
	if m := a.Routes[0].Mends; len(m) != 1 || m[0].MinVersion != "" || len(m[0].Keep) != 2 {
		t.Errorf("mends: %+v", m)
	}
}
