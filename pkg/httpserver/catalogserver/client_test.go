package catalogserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

// text is a catalog with an example of everything that a response may contain.
var text = `
schema: olm.package
name: foo
defaultChannel: stable
description: Foo is a foo.
icon: {base64data: aWNvbg==, mediatype: image/png}
---
schema: olm.channel
package: foo
name: stable
entries:
- {name: foo.v1.0.0}
- {name: foo.v1.1.0, replaces: foo.v1.0.0, skips: [foo.v0.9.0, foo.v1.0.0], skipRange: '>=0.9.0 <1.1.0'}
- {name: foo.v1.2.0, replaces: foo.v1.1.0, skips: [foo.v1.0.0, foo.v1.1.0, foo.v0.9.0]}
---
schema: olm.channel
package: foo
name: candidate
entries:
- {name: foo.v1.2.0}
---
schema: olm.bundle
package: foo
name: foo.v1.0.0
image: ""
properties:
- {type: olm.package, value: {packageName: foo, version: 1.0.0}}
- {type: olm.bundle.object, value: {data: ` + base64.StdEncoding.EncodeToString([]byte("kind: Service\nspec: {}\n")) + `}}
- {type: olm.bundle.object, value: {data: ` + base64.StdEncoding.EncodeToString([]byte(`{"kind": "ClusterServiceVersion", "spec": {"n": 1}}`)) + `}}
---
schema: olm.bundle
package: foo
name: foo.v1.1.0
image: example.com/foo@sha256:11
properties:
- {type: olm.package, value: {packageName: foo, version: 1.1.0}}
- {type: olm.bundle.object, value: {data: ` + base64.StdEncoding.EncodeToString([]byte(`{"kind": "ClusterServiceVersion"}`)) + `}}
---
schema: olm.bundle
package: foo
name: foo.v1.2.0
image: example.com/foo@sha256:12
properties:
- {type: olm.package, value: {packageName: foo, version: 1.2.0+4, release: r1}}
- {type: olm.gvk, value: {group: foo.io, version: v1, kind: Foo}}
- {type: olm.gvk, value: {group: foo.io, version: v1, kind: Only}}
- {type: olm.gvk.required, value: {group: bar.io, version: v1, kind: Bar}}
- {type: olm.package.required, value: {packageName: bar, versionRange: '>=1.0.0 <2.0.0'}}
- {type: olm.maxOpenShiftVersion, value: "4.20"}
- type: olm.csv.metadata
  value:
    annotations: {capabilities: Basic Install}
    apiServiceDefinitions: {}
    crdDescriptions: {owned: [{name: foos.foo.io, version: v1, kind: Foo}]}
    displayName: Foo
    installModes: [{type: AllNamespaces, supported: true}]
    provider: {name: <Foo & co>}
relatedImages:
- {name: foo, image: 'example.com/foo:1'}
---
schema: olm.deprecations
package: foo
entries:
- {reference: {schema: olm.package}, message: use bar}
- {reference: {schema: olm.channel, name: candidate}, message: use stable}
- {reference: {schema: olm.bundle, name: foo.v1.1.0}, message: broken}
---
schema: com.example.lifecycle
package: foo
versions: [{name: "1.0", end: 2030}]
---
schema: com.example.lifecycle
versions: []
---
schema: olm.package
name: bar
defaultChannel: a
---
schema: olm.channel
package: bar
name: a
entries: [{name: bar.v1.0.0}]
---
schema: olm.bundle
package: bar
name: bar.v1.0.0
image: example.com/bar
properties:
- {type: olm.package, value: {packageName: bar, version: 1.0.0}}
- {type: olm.gvk, value: {group: foo.io, version: v1, kind: Foo}}
`

func read(t testing.TB, text string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}, catalog.Options{})
	fail.On(t, err)
	return c
}

// serve serves a handler and returns its address. When the test ends, the server is stopped and
// must end without an error.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fail.On(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- catalogserver.Serve(ctx, slog.New(slog.DiscardHandler), catalogserver.Listener{Listener: listener, Handler: handler})
	}()
	t.Cleanup(func() {
		stop()
		fail.On(t, <-done)
	})
	return listener.Addr().String()
}

// A client calls methods as grpcurl does: with the descriptions from reflection.
type client struct {
	*grpc.ClientConn
	files *protoregistry.Files
}

func connect(t *testing.T, c *catalog.Catalog) *client {
	t.Helper()
	handler, err := catalogserver.Registry(c)
	fail.On(t, err)
	conn, err := grpc.NewClient(serve(t, handler), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fail.On(t, err)
	t.Cleanup(func() { conn.Close() })
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	fail.On(t, err)
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "api.Registry"},
	}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	fail.On(t, err)
	set := &descriptorpb.FileDescriptorSet{}
	for _, text := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		fail.On(t, proto.Unmarshal(text, file))
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	fail.On(t, err)
	fail.On(t, stream.CloseSend())
	return &client{conn, files}
}

// call calls a method with a request in JSON and returns the responses in JSON.
func (c *client) call(ctx context.Context, t *testing.T, service, method, request string) ([]any, error) {
	t.Helper()
	found, err := c.files.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	fail.On(t, err)
	m := found.(protoreflect.MethodDescriptor)
	in := dynamicpb.NewMessage(m.Input())
	fail.On(t, protojson.Unmarshal([]byte(request), in))
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: m.IsStreamingServer()}, "/"+service+"/"+method)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(in); err != nil {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var answers []any
	for {
		out := dynamicpb.NewMessage(m.Output())
		if err := stream.RecvMsg(out); err == io.EOF {
			return answers, nil
		} else if err != nil {
			return answers, err
		}
		if unknown := out.GetUnknown(); len(unknown) > 0 {
			t.Errorf("%s: fields that are not described: %x", method, unknown)
		}
		text, err := protojson.Marshal(out)
		fail.On(t, err)
		answers = append(answers, value(t, string(text)))
		if !m.IsStreamingServer() {
			return answers, nil
		}
	}
}

// value parses JSON, including JSON within its strings.
func value(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// TestFieldNumbers checks the numbers of the fields, which every cluster depends on.
func TestFieldNumbers(t *testing.T) {
	t.Parallel()
	c := connect(t, read(t, text))
	got := map[string]string{}
	file, err := c.files.FindFileByPath("pkg/catalogserver/api/registry.proto")
	fail.On(t, err)
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		var fields []string
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			if want := j + 1; int(f.Number()) != want {
				t.Errorf("%s has the number %d, want %d", f.FullName(), f.Number(), want)
			}
			text := string(f.Name())
			if f.Message() != nil {
				text = string(f.Message().Name()) + " " + text
			}
			if f.IsList() {
				text = "repeated " + text
			}
			fields = append(fields, text)
		}
		got[string(m.Name())] = strings.Join(fields, ", ")
	}
	gvk := "group, version, kind, plural"
	want := map[string]string{
		"Channel":          "name, csvName, Deprecation deprecation",
		"PackageName":      "name",
		"Package":          "name, repeated Channel channels, defaultChannelName, Deprecation deprecation",
		"GroupVersionKind": gvk,
		"Dependency":       "type, value",
		"Property":         "type, value",
		"Bundle": "csvName, packageName, channelName, csvJson, repeated object, bundlePath, repeated GroupVersionKind providedApis, " +
			"repeated GroupVersionKind requiredApis, version, skipRange, repeated Dependency dependencies, repeated Property properties, " +
			"replaces, repeated skips, Deprecation deprecation",
		"ChannelEntry": "packageName, channelName, bundleName, replaces", "ListPackageRequest": "", "ListBundlesRequest": "",
		"GetPackageRequest": "name", "GetBundleRequest": "pkgName, channelName, csvName", "GetBundleInChannelRequest": "pkgName, channelName",
		"GetAllReplacementsRequest": "csvName", "GetReplacementRequest": "csvName, pkgName, channelName",
		"GetAllProvidersRequest": gvk, "GetLatestProvidersRequest": gvk, "GetDefaultProviderRequest": gvk,
		"Deprecation": "message", "ExperimentalListPackageCustomSchemasRequest": "schema, packageName",
	}
	fail.Diff(t, want, got)
}
