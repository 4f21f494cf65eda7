package extension_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// content returns a catalog of the package "p". Lines are channels with their bundles, as
// "channel: entry[<replaces] ...", or JSON objects. A bundle p.v1.2.3 has the version after the "v".
func content(t *testing.T, lines ...string) *catalog.Catalog {
	t.Helper()
	var text strings.Builder
	text.WriteString(`{"schema":"olm.package","name":"p","defaultChannel":"stable"}`)
	seen := map[string]bool{}
	for _, line := range lines {
		if strings.HasPrefix(line, "{") {
			text.WriteString(line)
			continue
		}
		channel, entries, _ := strings.Cut(line, ": ")
		var list []string
		for entry := range strings.FieldsSeq(entries) {
			name, replaces, _ := strings.Cut(entry, "<")
			list = append(list, fmt.Sprintf(`{"name":%q,"replaces":%q}`, name, replaces))
			if _, version, ok := strings.Cut(name, ".v"); ok && !seen[name] {
				seen[name] = true
				fmt.Fprintf(&text, `{"schema":"olm.bundle","package":"p","name":%q,"image":"example.com/p@sha256:0","properties":[
					{"type":"olm.package","value":{"packageName":"p","version":%q}},
					{"type":"olm.csv.metadata","value":{"installModes":[{"type":"AllNamespaces","supported":true}]}}]}`, name, version)
			}
		}
		fmt.Fprintf(&text, `{"schema":"olm.channel","package":"p","name":%q,"entries":[%s]}`, channel, strings.Join(list, ","))
	}
	r := catalog.NewReader(catalog.Options{})
	fail.On(t, r.File("c.json", strings.NewReader(text.String())))
	c, err := r.Catalog()
	fail.On(t, err)
	return c
}

const (
	chain     = "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0"
	candidate = "candidate: p.v1.2.0 p.v2.0.0-rc.1<p.v1.2.0 p.v2.0.0<p.v1.0.0"
)

func deprecated(names ...string) string {
	var entries []string
	for _, name := range names {
		schema, name, _ := strings.Cut(name, "/")
		entries = append(entries, fmt.Sprintf(`{"reference":{"schema":%q,"name":%q},"message":"gone %s"}`, schema, name, name))
	}
	return fmt.Sprintf(`{"schema":"olm.deprecations","package":"p","entries":[%s]}`, strings.Join(entries, ","))
}

func TestResolve(t *testing.T) {
	t.Parallel()
	both := content(t, chain, candidate)
	small := content(t, chain)
	installed := func(name, version string) *extension.Installed {
		return &extension.Installed{Name: name, Version: version}
	}
	one := func(c *catalog.Catalog) []extension.Catalog {
		return []extension.Catalog{{Name: "c", Content: c}}
	}
	tests := map[string]struct {
		e        extension.Extension
		catalogs []extension.Catalog
		want     string // CATALOG BUNDLE, or the error's reason and message
	}{
		"highest version":                               {extension.Extension{}, one(both), "c p.v2.0.0"},
		"a channel":                                     {extension.Extension{Channels: []string{"stable"}}, one(both), "c p.v1.2.0"},
		"a range":                                       {extension.Extension{Version: "~1.1"}, one(both), "c p.v1.1.0"},
		"pre-releases are excluded":                     {extension.Extension{Version: "<2.0.0"}, one(both), "c p.v1.2.0"},
		"pre-releases are included":                     {extension.Extension{Version: "<2.0.0-z"}, one(both), "c p.v2.0.0-rc.1"},
		"an update":                                     {extension.Extension{Channels: []string{"stable"}, Installed: installed("p.v1.0.0", "1.0.0")}, one(both), "c p.v1.1.0"},
		"an update by another channel":                  {extension.Extension{Installed: installed("p.v1.0.0", "1.0.0")}, one(both), "c p.v2.0.0"},
		"stays at the head":                             {extension.Extension{Installed: installed("p.v2.0.0", "2.0.0")}, one(both), "c p.v2.0.0"},
		"an update from a removed bundle":               {extension.Extension{Installed: installed("p.v0.9.0", "0.9.0")}, one(content(t, "stable: p.v1.0.0<p.v0.9.0")), "c p.v1.0.0"},
		"self-certified":                                {extension.Extension{Version: "1.0.0", SelfCertified: true, Installed: installed("p.v2.0.0", "2.0.0")}, one(both), "c p.v1.0.0"},
		"release in build metadata":                     {extension.Extension{}, one(content(t, "stable: p.v1.0.0+2 p.v1.0.0+10 p.v1.0.0")), "c p.v1.0.0+10"},
		"release is part of the installed version":      {extension.Extension{Installed: installed("p.v1.0.0+2", "1.0.0+2")}, one(content(t, "stable: p.v1.0.0+2 p.v1.0.0+10")), "c p.v1.0.0+2"},
		"deprecated bundles last":                       {extension.Extension{}, one(content(t, chain, deprecated("olm.bundle/p.v1.2.0", "olm.bundle/p.v1.1.0"))), "c p.v1.0.0"},
		"a deprecated update is not chosen":             {extension.Extension{Installed: installed("p.v1.0.0", "1.0.0")}, one(content(t, chain, deprecated("olm.bundle/p.v1.1.0"))), "c p.v1.0.0"},
		"a catalog with a deprecated bundle comes last": {extension.Extension{}, []extension.Catalog{{Name: "a", Priority: 9, Content: content(t, "s: p.v3.0.0", deprecated("olm.bundle/p.v3.0.0"))}, {Name: "b", Content: small}}, "b p.v1.2.0"},
		"the higher priority":                           {extension.Extension{}, []extension.Catalog{{Name: "a", Content: both}, {Name: "b", Priority: 1, Content: small}}, "b p.v1.2.0"},
		"a catalog without the package":                 {extension.Extension{}, []extension.Catalog{{Name: "a"}, {Name: "b", Content: small}}, "b p.v1.2.0"},
		"an unavailable catalog":                        {extension.Extension{}, []extension.Catalog{{Name: "a", Content: both, Unavailable: true}, {Name: "b", Content: small}}, "b p.v1.2.0"},
		"the label that every catalog has":              {extension.Extension{Selector: extension.Selector{MatchLabels: map[string]string{"olm.operatorframework.io/metadata.name": "b"}}}, []extension.Catalog{{Name: "a", Content: both}, {Name: "b", Content: small}}, "b p.v1.2.0"},
		"labels in expressions":                         {extension.Extension{Selector: extension.Selector{MatchExpressions: []extension.Requirement{{Key: "x", Operator: "In", Values: []string{"1", "2"}}, {Key: "y", Operator: "DoesNotExist"}}}}, []extension.Catalog{{Name: "a", Content: both, Labels: map[string]string{"x": "1", "y": ""}}, {Name: "b", Content: small, Labels: map[string]string{"x": "2"}}, {Name: "c", Content: both}}, "b p.v1.2.0"},
		"a missing label is not in":                     {extension.Extension{Selector: extension.Selector{MatchExpressions: []extension.Requirement{{Key: "x", Operator: "NotIn", Values: []string{"1"}}, {Key: "z", Operator: "Exists"}}}}, []extension.Catalog{{Name: "a", Content: both, Labels: map[string]string{"x": "1", "z": ""}}, {Name: "b", Content: small, Labels: map[string]string{"z": ""}}}, "b p.v1.2.0"},

		"two catalogs": {
			extension.Extension{Version: "1.x", Channels: []string{"stable", "candidate"}},
			[]extension.Catalog{{Name: "z", Priority: 3, Content: both}, {Name: "b", Priority: 3, Content: small}},
			`ambiguous: found bundles for package "p" matching version "1.x" in channels [stable candidate] in multiple catalogs with the same priority [b z]; set a higher spec.priority for one of them, or a selector in the ClusterExtension such as matchLabels: {olm.operatorframework.io/metadata.name: b}`,
		},
		"no such package": {
			extension.Extension{Package: "pipeline"}, one(content(t, `{"schema":"olm.package","name":"pipelines"}`)),
			`no-bundle: no bundles found for package "pipeline"; catalog c does not have the package; did you mean "pipelines"?`,
		},
		"no such channel": {
			extension.Extension{Channels: []string{"stabel"}}, one(both),
			`no-bundle: no bundles found for package "p" in channels [stabel]; catalog c has 5 bundles of it, none in the channels; did you mean "stable"?`,
		},
		"nothing in the range": {
			extension.Extension{Version: ">2"}, []extension.Catalog{{Name: "a", Unavailable: true}, {Name: "b", Content: both}},
			`no-bundle: no bundles found for package "p" matching version ">2"; catalog a is skipped: its availabilityMode is Unavailable; catalog b has 5 bundles of it, none in the version range`,
		},
		"no update, and not in the catalog": {
			extension.Extension{Installed: installed("p.v0.1.0", "0.1.0")}, one(both),
			`no-bundle: error upgrading from currently installed version "0.1.0": no bundles found for package "p"; catalog c has 5 bundles of it, none of them p.v0.1.0 or an update of it`,
		},
		"no catalogs":       {extension.Extension{}, nil, `no-bundle: no bundles found for package "p"; there is no ClusterCatalog`},
		"an invalid range":  {extension.Extension{Version: "one"}, one(both), `invalid: desired version range "one" is invalid: improper constraint: "one"`},
		"a hyphen range":    {extension.Extension{Version: "1.2 - 1.4"}, one(both), `invalid: "1.2 - 1.4" is not a version range that clusters accept; use comparisons such as ">=1.2.0 <2.0.0"`},
		"a long range":      {extension.Extension{Version: ">=1.0.0, <2.0.0, !=1.1.1, !=1.1.2, !=1.1.3, !=1.1.4, !=1.1.5, !=1.1.6"}, one(both), "invalid: a version range has at most 64 characters, and this one has 69"},
		"an invalid status": {extension.Extension{Installed: installed("p.v1", "1")}, one(both), `invalid: error finding upgrade edges: failed to get version and release of installed bundle: No Major.Minor.Patch elements found`},
		"a dependency": {
			extension.Extension{},
			one(content(t, "stable: p.1", `{"schema":"olm.bundle","package":"p","name":"p.1","image":"i","properties":[{"type":"olm.package","value":{"packageName":"p","version":"9.0.0"}},{"type":"olm.gvk.required","value":{}}]}`)),
			`unsupported: validating bundle "p.1": bundle "p.1" has a dependency declared via property "olm.gvk.required" which is currently not supported`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.e.Package == "" {
				test.e.Package = "p"
			}
			r, err := extension.Resolve(test.e, test.catalogs)
			got := r.Catalog + " " + r.Bundle
			if reason := (*extension.Error)(nil); errors.As(err, &reason) {
				got = fmt.Sprintf("%s: %v", reason.Reason, err)
			} else if err != nil {
				t.Fatal(err)
			}
			fail.Diff(t, test.want, got)
		})
	}
}

func TestResolution(t *testing.T) {
	t.Parallel()
	c := content(t, chain, candidate, deprecated("olm.package/", "olm.channel/stable", "olm.channel/candidate", "olm.bundle/p.v1.0.0", "olm.bundle/p.v1.1.0", "olm.bundle/p.v1.2.0"))
	e := extension.Extension{Package: "p", Channels: []string{"stable"}, Installed: &extension.Installed{Name: "p.v1.1.0", Version: "1.1.0"}}
	catalogs := []extension.Catalog{{Name: "two", Content: content(t, candidate)}, {Name: "one", Content: c}}
	got, err := extension.Resolve(e, catalogs)
	fail.On(t, err)
	want := extension.Resolution{
		Catalog: "one", Bundle: "p.v1.2.0", Version: "1.2.0",
		Deprecated: []string{"package p: gone ", "channel stable: gone stable", "bundle p.v1.2.0: gone p.v1.2.0"},
		Considered: []extension.Considered{
			{Catalog: "one", Found: true, Bundles: 5, InChannels: 3, InRange: 3, Updates: 2, Bundle: "p.v1.2.0"},
			{Catalog: "two", Found: true, Bundles: 3},
		},
		Explanation: "it is the highest version of 2 bundles in channel stable, that are p.v1.1.0 or an update of it; all of them are deprecated",
	}
	fail.Diff(t, want, got)
}

func TestReview(t *testing.T) {
	t.Parallel()
	bundle := func(version, properties string) string {
		return fmt.Sprintf(`{"schema":"olm.bundle","package":"p","name":"p.%[1]s","image":"i","properties":[{"type":"olm.package","value":{"packageName":"p","version":%[1]q}}%[2]s]}`, version, properties)
	}
	modes := func(types ...string) string {
		list := elements.Map(types, func(mode string) string { return fmt.Sprintf(`{"type":%q,"supported":true}`, mode) })
		return fmt.Sprintf(`,{"type":"olm.csv.metadata","value":{"installModes":[%s]}}`, strings.Join(list, ","))
	}
	c := content(t,
		bundle("1.0.0", modes("AllNamespaces")),
		bundle("2.0.0", modes("OwnNamespace", "SingleNamespace")+`,{"type":"olm.constraint","value":{}}`),
		bundle("3.0.0", modes("MultiNamespace")),
		bundle("0.1.0", ""),
	)
	got := extension.Review(c.Package("p"))
	want := []extension.Finding{
		{Reason: extension.NoInstallMode, Bundles: []string{"p.3.0.0"}, Message: "package p: bundle p.3.0.0 does not support the install mode AllNamespaces (only MultiNamespace); OLM v1 refuses it"},
		{Reason: extension.Dependency, Bundles: []string{"p.2.0.0"}, Message: "package p: bundle p.2.0.0 declares a dependency (olm.constraint), which OLM v1 does not support"},
		{Reason: extension.InstallMode, Bundles: []string{"p.2.0.0"}, Message: "package p: bundle p.2.0.0 does not support the install mode AllNamespaces (only OwnNamespace, SingleNamespace); OLM v1 refuses it unless the feature gate NewOLMOwnSingleNamespace is enabled and the ClusterExtension sets a watchNamespace"},
		{Reason: extension.NoExcerpt, Bundles: []string{"p.0.1.0"}, Message: "package p: bundle p.0.1.0 has no ClusterServiceVersion in the catalog (neither olm.csv.metadata nor in olm.bundle.object): consoles do not show it, and it is unknown whether OLM v1 accepts it"},
	}
	fail.Diff(t, want, got)
}

// With a watchNamespace, bundles that can watch a single namespace are not refused.
func TestWatchNamespace(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[string]int{"AllNamespaces": 0, "OwnNamespace": 0, "SingleNamespace": 0, "MultiNamespace": 1} {
		c := content(t, "stable: p.x", fmt.Sprintf(`{"schema":"olm.bundle","package":"p","name":"p.x","image":"i","properties":[
			{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}},
			{"type":"olm.csv.metadata","value":{"installModes":[{"type":%q,"supported":true}]}}]}`, mode))
		got, err := extension.Resolve(extension.Extension{Package: "p", WatchNamespace: "here"}, []extension.Catalog{{Content: c}})
		fail.On(t, err)
		if len(got.Refusals) != refused {
			t.Errorf("%s: refusals %v, want %d", mode, got.Refusals, refused)
		}
	}
}
