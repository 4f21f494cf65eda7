package catalogserver_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

const (
	bar = `{"csvName": "bar.v1.0.0", "packageName": "bar", "channelName": "a", "bundlePath": "example.com/bar", "version": "1.0.0",
		"providedApis": [{"group": "foo.io", "version": "v1", "kind": "Foo"}],
		"properties": [{"type": "olm.package", "value": "{\"packageName\":\"bar\",\"version\":\"1.0.0\"}"},
			{"type": "olm.gvk", "value": "{\"group\":\"foo.io\",\"kind\":\"Foo\",\"version\":\"v1\"}"}]}`
	foo10 = `{"csvName": "foo.v1.0.0", "packageName": "foo", "channelName": "stable", "version": "1.0.0",
		"csvJson": "{\"kind\":\"ClusterServiceVersion\",\"spec\":{\"n\":1}}",
		"object": ["{\"kind\":\"Service\",\"spec\":{}}", "{\"kind\":\"ClusterServiceVersion\",\"spec\":{\"n\":1}}"],
		"properties": [{"type": "olm.package", "value": "{\"packageName\":\"foo\",\"version\":\"1.0.0\"}"}]}`
	foo11Body = `"csvName": "foo.v1.1.0", "packageName": "foo", "channelName": "stable", "bundlePath": "example.com/foo@sha256:11", "version": "1.1.0",
		"skipRange": ">=0.9.0 <1.1.0", "deprecation": {"message": "broken"},
		"properties": [{"type": "olm.package", "value": "{\"packageName\":\"foo\",\"version\":\"1.1.0\"}"}]`
	foo11CSV   = `, "csvJson": "{\"kind\":\"ClusterServiceVersion\"}", "object": ["{\"kind\":\"ClusterServiceVersion\"}"]`
	foo11Edges = `, "replaces": "foo.v1.0.0", "skips": ["foo.v0.9.0", "foo.v1.0.0"]`
	foo12Body  = `"csvName": "foo.v1.2.0", "packageName": "foo", "bundlePath": "example.com/foo@sha256:12", "version": "1.2.0+4",
		"providedApis": [{"group": "foo.io", "version": "v1", "kind": "Foo"}, {"group": "foo.io", "version": "v1", "kind": "Only"}], "requiredApis": [{"group": "bar.io", "version": "v1", "kind": "Bar"}],
		"dependencies": [{"type": "olm.gvk", "value": "{\"group\":\"bar.io\",\"kind\":\"Bar\",\"version\":\"v1\"}"},
			{"type": "olm.package", "value": "{\"packageName\":\"bar\",\"version\":\">=1.0.0 <2.0.0\"}"}],
		"properties": [{"type": "olm.package", "value": "{\"packageName\":\"foo\",\"release\":\"r1\",\"version\":\"1.2.0+4\"}"},
			{"type": "olm.gvk", "value": "{\"group\":\"foo.io\",\"kind\":\"Foo\",\"version\":\"v1\"}"},
			{"type": "olm.gvk", "value": "{\"group\":\"foo.io\",\"kind\":\"Only\",\"version\":\"v1\"}"},
			{"type": "olm.gvk.required", "value": "{\"group\":\"bar.io\",\"kind\":\"Bar\",\"version\":\"v1\"}"},
			{"type": "olm.package.required", "value": "{\"packageName\":\"bar\",\"versionRange\":\">=1.0.0 <2.0.0\"}"},
			{"type": "olm.maxOpenShiftVersion", "value": "\"4.20\""}]`
	foo12Edges = `, "channelName": "stable", "replaces": "foo.v1.1.0", "skips": ["foo.v1.0.0", "foo.v1.1.0", "foo.v0.9.0"]`
	noSuchAPI  = `no channel entries found that provide group:"no.io" version:"v1" kind:"Foo"`
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	c := connect(t, read(t, text))
	for _, tc := range []struct {
		method, request, want string
		code                  codes.Code
		message               string
	}{
		{method: "ListPackages", request: `{}`, want: `[{"name": "bar"}, {"name": "foo"}]`},
		{method: "GetPackage", request: `{"name": "foo"}`, want: `[{"name": "foo", "defaultChannelName": "stable", "deprecation": {"message": "use bar"}, "channels": [
			{"name": "candidate", "csvName": "foo.v1.2.0", "deprecation": {"message": "use stable"}}, {"name": "stable", "csvName": "foo.v1.2.0"}]}]`},
		{method: "GetPackage", request: `{"name": "fo"}`, code: codes.NotFound, message: `package "fo" not found`},
		{method: "GetBundle", request: `{"pkgName": "foo", "channelName": "stable", "csvName": "foo.v1.0.0"}`, want: "[" + foo10 + "]"},
		{method: "GetBundle", request: `{"pkgName": "foo", "channelName": "stable", "csvName": "foo.v1.1.0"}`, want: "[{" + foo11Body + foo11CSV + "}]"},
		{
			method: "GetBundle", request: `{"pkgName": "foo", "channelName": "candidate", "csvName": "foo.v1.0.0"}`,
			code: codes.NotFound, message: `package "foo", channel "candidate", bundle "foo.v1.0.0" not found`,
		},
		{method: "GetBundleForChannel", request: `{"pkgName": "bar", "channelName": "a"}`, want: "[" + bar + "]"},
		{method: "GetBundleForChannel", request: `{"pkgName": "bar"}`, code: codes.NotFound, message: `package "bar", channel "" not found`},
		{method: "GetBundleForChannel", request: `{"channelName": "a"}`, code: codes.NotFound, message: `package "" not found`},
		// The entry that replaces a bundle comes before the one that skips it.
		{method: "GetBundleThatReplaces", request: `{"csvName": "foo.v1.0.0", "pkgName": "foo", "channelName": "stable"}`, want: "[{" + foo11Body + foo11CSV + "}]"},
		{method: "GetBundleThatReplaces", request: `{"csvName": "foo.v0.9.0", "pkgName": "foo", "channelName": "stable"}`, want: "[{" + foo11Body + foo11CSV + "}]"},
		{
			method: "GetBundleThatReplaces", request: `{"csvName": "foo.v1.2.0", "pkgName": "foo", "channelName": "stable"}`,
			code: codes.NotFound, message: `no entry found for package "foo", channel "stable" that replaces "foo.v1.2.0"`,
		},
		{method: "GetBundleThatReplaces", request: `{"pkgName": "foo", "channelName": "stable"}`, code: codes.NotFound},
		{method: "ListBundles", request: `{}`, want: "[" + bar + ",{" + foo12Body + `, "channelName": "candidate"},` + foo10 + ",{" + foo11Body + foo11Edges + "},{" + foo12Body + foo12Edges + "}]"},
		{method: "GetChannelEntriesThatReplace", request: `{"csvName": "foo.v1.0.0"}`, want: `[
			{"packageName": "foo", "channelName": "stable", "bundleName": "foo.v1.1.0", "replaces": "foo.v1.0.0"},
			{"packageName": "foo", "channelName": "stable", "bundleName": "foo.v1.2.0", "replaces": "foo.v1.1.0"}]`},
		{method: "GetChannelEntriesThatReplace", request: `{"csvName": "bar.v1.0.0"}`, code: codes.NotFound, message: "no channel entries found that replace bar.v1.0.0"},
		{method: "GetChannelEntriesThatReplace", request: `{}`, code: codes.NotFound},
		{method: "GetChannelEntriesThatProvide", request: `{"group": "foo.io", "version": "v1", "kind": "Foo"}`, want: `[
			{"packageName": "bar", "channelName": "a", "bundleName": "bar.v1.0.0"},
			{"packageName": "foo", "channelName": "candidate", "bundleName": "foo.v1.2.0"},
			{"packageName": "foo", "channelName": "stable", "bundleName": "foo.v1.2.0", "replaces": "foo.v1.1.0"},
			{"packageName": "foo", "channelName": "stable", "bundleName": "foo.v1.2.0", "replaces": "foo.v1.0.0"},
			{"packageName": "foo", "channelName": "stable", "bundleName": "foo.v1.2.0", "replaces": "foo.v0.9.0"}]`},
		{method: "GetChannelEntriesThatProvide", request: `{"group": "no.io", "version": "v1", "kind": "Foo"}`, code: codes.NotFound, message: noSuchAPI},
		{method: "GetLatestChannelEntriesThatProvide", request: `{"group": "foo.io", "version": "v1", "kind": "Foo", "plural": "foos"}`, want: `[
			{"packageName": "bar", "channelName": "a", "bundleName": "bar.v1.0.0"},
			{"packageName": "foo", "channelName": "candidate", "bundleName": "foo.v1.2.0"},
			{"packageName": "foo", "channelName": "stable", "bundleName": "foo.v1.2.0", "replaces": "foo.v1.1.0"},
			{"packageName": "foo", "channelName": "stable", "bundleName": "foo.v1.2.0", "replaces": "foo.v1.0.0"}]`},
		{method: "GetLatestChannelEntriesThatProvide", request: `{"group": "no.io", "version": "v1", "kind": "Foo"}`, code: codes.NotFound, message: noSuchAPI},
		{method: "GetDefaultBundleThatProvides", request: `{"group": "foo.io", "version": "v1", "kind": "Foo"}`, want: "[" + bar + "]"},
		{method: "GetDefaultBundleThatProvides", request: `{"group": "foo.io", "version": "v1", "kind": "Only"}`, want: "[{" + foo12Body + `, "channelName": "stable", "csvJson": "?", "object": "?"}]`},
		{method: "GetDefaultBundleThatProvides", request: `{"group": "no.io", "version": "v1", "kind": "Foo"}`, code: codes.NotFound, message: noSuchAPI},
	} {
		t.Run(tc.method+" "+tc.request, func(t *testing.T) {
			t.Parallel()
			got, err := c.call(t.Context(), t, "api.Registry", tc.method, tc.request)
			if s := status.Convert(err); s.Code() != tc.code || tc.message != "" && s.Message() != tc.message {
				t.Errorf("got %v, want %v %s", err, tc.code, tc.message)
			}
			if tc.want == "" {
				return
			}
			for _, answer := range got {
				// TestMadeCSV checks the text that is made from an excerpt.
				if b := answer.(map[string]any); b["csvName"] == "foo.v1.2.0" && b["csvJson"] != nil {
					b["csvJson"], b["object"] = "?", "?"
				}
			}
			fail.Diff(t, value(t, tc.want), any(got))
		})
	}
}

// TestProviderOnce checks that a bundle that lists an API twice provides it once.
func TestProviderOnce(t *testing.T) {
	t.Parallel()
	c := connect(t, read(t, `
{"schema": "olm.package", "name": "p", "defaultChannel": "a"}
{"schema": "olm.channel", "package": "p", "name": "a", "entries": [{"name": "p.v1.0.0"}]}
{"schema": "olm.bundle", "package": "p", "name": "p.v1.0.0", "properties": [
 {"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}},
 {"type": "olm.gvk", "value": {"group": "p.io", "version": "v1", "kind": "P"}},
 {"type": "olm.gvk", "value": {"group": "p.io", "version": "v1", "kind": "O"}},
 {"type": "olm.gvk", "value": {"kind": "P", "version": "v1", "group": "p.io"}}]}
`))
	got, err := c.call(t.Context(), t, "api.Registry", "GetChannelEntriesThatProvide", `{"group": "p.io", "version": "v1", "kind": "P"}`)
	fail.On(t, err)
	fail.Diff(t, value(t, `[{"packageName": "p", "channelName": "a", "bundleName": "p.v1.0.0"}]`), any(got))
}

// TestRegistryRefuses checks that a catalog that opm would not serve is refused with all reasons.
func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	_, err := catalogserver.Registry(read(t, `
{"schema": "olm.channel", "package": "p", "name": "a", "entries": [{"name": "x"}, {"name": "y"}]}
{"schema": "olm.channel", "package": "p", "name": "b", "entries": [{"name": "z"}]}
{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "w"}]}
{"schema": "olm.bundle", "package": "p", "name": "w", "properties": [{"type": "olm.gvk", "value": "wrong"}]}
`))
	const want = `serving the catalog to OLM classic: package p: there is no olm.package object
package p: reading property olm.gvk of bundle w: json: cannot unmarshal string into Go value of type catalogserver.gvk
package p: channel a has 2 heads (x, y), but needs exactly one
package p: channel b has the entry z without a bundle
package p: bundle w: `
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
