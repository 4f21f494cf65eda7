package catalogserver_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestMadeCSV checks the ClusterServiceVersion that is made for a bundle that has only an excerpt
// of it.
func TestMadeCSV(t *testing.T) {
	t.Parallel()
	c := connect(t, read(t, text))
	got, err := c.call(t.Context(), t, "api.Registry", "GetBundle", `{"pkgName": "foo", "channelName": "stable", "csvName": "foo.v1.2.0"}`)
	fail.On(t, err)
	bundle := got[0].(map[string]any)
	const want = `{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": {"name": "foo.v1.2.0", "annotations": {"capabilities": "Basic Install"}},
		"spec": {
			"displayName": "Foo", "description": "Foo is a foo.", "version": "1.2.0+4",
			"icon": [{"base64data": "aWNvbg==", "mediatype": "image/png"}],
			"install": {"strategy": "deployment"}, "provider": {"name": "<Foo & co>"},
			"installModes": [{"type": "AllNamespaces", "supported": true}],
			"customresourcedefinitions": {"owned": [{"name": "foos.foo.io", "version": "v1", "kind": "Foo"}]},
			"apiservicedefinitions": {}, "relatedImages": [{"name": "foo", "image": "example.com/foo:1"}]
		}
	}`
	fail.Diff(t, value(t, want), value(t, bundle["csvJson"].(string)))
	fail.Diff(t, []any{bundle["csvJson"]}, bundle["object"])
	if strings.Contains(bundle["csvJson"].(string), `\u003c`) {
		t.Error("the text is escaped for HTML")
	}
}

func TestListOthers(t *testing.T) {
	t.Parallel()
	c := connect(t, read(t, text))
	knowing := metadata.AppendToOutgoingContext(t.Context(), "x-acknowledge-experimental", "true")
	for _, tc := range []struct {
		name, request, want string
		ctx                 context.Context
		code                codes.Code
	}{
		{"of a package", `{"schema": "com.example.lifecycle", "packageName": "foo"}`, `[{"schema": "com.example.lifecycle", "package": "foo", "versions": [{"name": "1.0", "end": 2030}]}]`, knowing, codes.OK},
		{"of none", `{"schema": "com.example.lifecycle"}`, `[{"schema": "com.example.lifecycle", "versions": []}]`, knowing, codes.OK},
		{"of another package", `{"schema": "com.example.lifecycle", "packageName": "bar"}`, `null`, knowing, codes.OK},
		{"of no package", `{"schema": "com.example.lifecycle", "packageName": "zoo"}`, `null`, knowing, codes.OK},
		{"another schema", `{"schema": "com.example"}`, `null`, knowing, codes.OK},
		{"no schema", `{}`, `null`, knowing, codes.InvalidArgument},
		{"without knowing", `{"schema": "com.example.lifecycle"}`, `null`, t.Context(), codes.OK},
	} {
		got, err := c.call(tc.ctx, t, "api.ExperimentalRegistry", "ExperimentalListPackageCustomSchemas", tc.request)
		if status.Code(err) != tc.code {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.code)
		}
		var want []any
		if v := value(t, tc.want); v != nil {
			want = v.([]any)
		}
		fail.Diff(t, want, got)
	}
}
