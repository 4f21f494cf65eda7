package upgrade_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// ClusterExtensions whose range is below the installed version, and those whose installed version
// has another name in the catalog.
func TestVersionRanges(t *testing.T) {
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
		"range below the installed version": {pinned, "stranded\nc/ stranded:\n  OLM v1 resolves no bundle: the version range 1.1.0 of the ClusterExtension excludes the installed version, and no bundle in the range updates it\n" +
			"  fix: set spec.source.catalog.version of the ClusterExtension ext to a range that includes 1.3.0"},
		"newer than the mirror":    {loose, "ahead\nc/ ahead:\n  it is not older than p.v1.3.0, the newest bundle in the mirror for it; OLM does not change it; the catalog does not have it, so OLM v1 reports that it finds no bundle"},
		"the head of the range":    {kept, "at-head\nc/ at-head:\n  it is at the head"},
		"downgraded":               {certified, "downgraded\nc/ downgraded: p.v1.1.0()\n  it is downgraded to p.v1.1.0, the newest bundle in the mirror that the ClusterExtension allows: its upgradeConstraintPolicy is SelfCertified"},
		"by another name":          {renamed, "reaches\nc/ reaches: p.v1.1.0() p.v1.2.0(replaces) p.v1.3.0(replaces)\n  it reaches the head p.v1.3.0"},
		"by another name, pinned":  {behind, "reaches\nc/ reaches: p.v1.0.0()\n  it reaches the head p.v1.0.0"},
		"the head by another name": {head, "reaches\nc/ reaches: p.v1.3.0()\n  it reaches the head p.v1.3.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, []installed.Operator{test.operator}, []upgrade.Catalog{{Name: "c", Kept: c, Source: c}}, upgrade.Options{})
			fail.Diff(t, test.want, format(r.Operators[0]))
		})
	}
}

// The skipRange of an entry of the same precedence may include the head. OLM classic then continues
// to that entry, and possibly back.
func TestSkipRangeIncludesHead(t *testing.T) {
	t.Parallel()
	there := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0~<1.1.0 p.v1.1.0+1<p.v1.1.0~<1.1.0")
	back := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0~<=1.1.0 p.v1.1.0+1<p.v1.1.0~<1.1.0")
	for name, test := range map[string]struct {
		catalog upgrade.Catalog
		from    string
		want    string
	}{
		"at the head": {upgrade.Catalog{Name: "c", Kept: there}, "1.1.0+1", "at-head\nc/stable at-head:\n  it is at the head"},
		"reaches the head and alternates": {upgrade.Catalog{Name: "c", Kept: back}, "1.0.0",
			"reaches\nc/stable reaches: p.v1.1.0+1(skipRange)\n  it reaches the head p.v1.1.0+1; OLM classic continues, because the skipRange of p.v1.1.0 includes it, and alternates between the two"},
		"at the head and alternates": {upgrade.Catalog{Name: "c", Kept: back}, "1.1.0+1",
			"at-head\nc/stable at-head:\n  it is at the head; OLM classic continues, because the skipRange of p.v1.1.0 includes it, and alternates between the two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, []installed.Operator{classic(test.from, "stable")}, []upgrade.Catalog{test.catalog}, upgrade.Options{})
			fail.Diff(t, test.want, format(r.Operators[0]))
		})
	}
}

// A fix that names a minVersion must be valid in the configuration: of two channels only one may
// have such a version.
func TestFixNamesChannel(t *testing.T) {
	t.Parallel()
	source := content(t, chain, "beta: p.v0.9.0 p.v0.9.1<p.v0.9.0")
	kept := keep(t, source, "packages: [{name: p}]")
	a := check(t, v1("1.0.0"), kept, source)
	want := []upgrade.Fix{{
		Catalog: "c", Package: "p", Channel: "stable", Keep: []string{"p.v1.1.0", "p.v1.2.0"}, MinVersion: "1.1.0",
		Message: "keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0} to installed of the catalog in the configuration, or set minVersion: 1.1.0 for channel stable, and list the other channels too",
	}}
	fail.Diff(t, want, a.Paths[0].Fixes)
	// Bundles of two channels have no minVersion in common.
	source = content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0", "fast: p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0")
	a = check(t, v1("1.0.0"), keep(t, source, "packages: [{name: p, channels: [{name: fast, minVersion: 1.3.0}, {name: stable, minVersion: 1.0.0, maxVersion: 1.0.0}]}]"), source)
	if m := a.Paths[0].Fixes; len(m) != 1 || m[0].MinVersion != "" || len(m[0].Keep) != 2 {
		t.Errorf("fixes: %+v", m)
	}
}
