package authoring_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A served is a catalog that is served.
type served struct {
	t    *testing.T
	addr string
	url  string
	end  func() error
}

// serving serves a catalog until end is called.
func serving(s *mirrortest.Site, catalog, name string) *served {
	s.T.Helper()
	ctx, stop := context.WithCancel(s.T.Context())
	ready, ended := make(chan authoring.ServingCatalog, 1), make(chan error, 1)
	go func() {
		ended <- authoring.ServeCatalog(ctx, authoring.ServeCatalogOptions{Env: s.Env, Workspace: s.Workspace(), Catalog: catalog, Name: name, Listen: "127.0.0.1:0", Ready: func(c authoring.ServingCatalog) error {
			ready <- c
			return nil
		}})
	}()
	end := func() error {
		stop()
		return <-ended
	}
	select {
	case at := <-ready:
		return &served{s.T, at.Address, at.URL, end}
	case err := <-ended:
		s.T.Fatal(err)
		return nil
	}
}

// get sends a request to the HTTP API and checks the status of the response.
func (s *served) get(path string, status int) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, http.NoBody)
	fail.On(s.t, err)
	answer, err := http.DefaultClient.Do(request)
	fail.On(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	fail.On(s.t, err)
	if answer.StatusCode != status {
		s.t.Errorf("GET %s: %s, want %d\n%s", path, answer.Status, status, text)
	}
	return string(text)
}

func TestCatalogServe(t *testing.T) {
	t.Parallel()
	site := mirrortest.Catalogs(t)
	rendered := mustRender(site, authoring.RenderOptions{Catalogs: []string{site.Path("zoo")}})
	s := serving(site, mirrortest.ZooRef, "")
	if want := "http://" + s.addr + "/catalogs/operator-index/api/v1/all"; s.url != want {
		t.Errorf("the address is %s, want %s", s.url, want)
	}
	api := "/catalogs/operator-index/api/v1/"
	fail.Diff(t, sortedLines(rendered), sortedLines(s.get(api+"all", http.StatusOK)))
	metas := s.get(api+"metas?schema=olm.bundle&package=otter", http.StatusOK)
	if n := strings.Count(metas, "\n"); n != 6 || strings.Count(metas, `"name":"otter.v1.`) != 6 {
		t.Errorf("%d objects are bundles of otter, want 6:\n%s", n, metas)
	}
	s.get(api+"metas?color=red", http.StatusBadRequest)
	s.get("/catalogs/zoo/api/v1/all", http.StatusNotFound)

	r := s.reflect()
	names := elements.Map(r.call("ListPackages", `{}`), func(p map[string]any) string { return p["name"].(string) })
	fail.Diff(t, []string{"heron", "otter", "pond", "vole"}, names)
	bundles := r.call("ListBundles", `{}`)
	if len(bundles) != 10 { // otter.v1.3.0 is in two channels
		t.Errorf("%d bundles, want 10", len(bundles))
	}
	i := slices.IndexFunc(bundles, func(b map[string]any) bool { return b["csvName"] == "otter.v1.1.1" })
	if i < 0 {
		t.Fatalf("otter.v1.1.1 is not among %v", bundles)
	}
	one := map[string]any{"csvName": "otter.v1.1.1", "version": "1.1.1", "packageName": "otter", "channelName": "stable", "replaces": "otter.v1.0.0", "skips": []any{"otter.v1.1.0"}}
	fail.Diff(t, one, only(bundles[i], one))
	// Like opm, GetBundle does not return the edges of the bundle.
	got := r.call("GetBundle", `{"pkgName": "otter", "channelName": "stable", "csvName": "otter.v1.1.1"}`)[0]
	delete(one, "replaces")
	delete(one, "skips")
	fail.Diff(t, one, only(got, one))
	if !strings.Contains(got["bundlePath"].(string), "/zoo/otter-bundle@sha256:") {
		t.Errorf("the bundle's image is %v", got["bundlePath"])
	}

	// Options that cannot be served are refused, beside this server.
	for words, o := range map[string]authoring.ServeCatalogOptions{
		"in use":       {Catalog: site.Path("zoo"), Listen: s.addr},
		"Mine":         {Catalog: site.Path("zoo"), Listen: "127.0.0.1:0", Name: "Mine"},
		"no such file": {Catalog: site.Path("absent.yaml")},
	} {
		o.Env, o.Workspace = site.Env, site.Workspace()
		mirrortest.Refused(t, authoring.ServeCatalog(t.Context(), o), advice.Input, words)
	}
	if err := s.end(); err != nil {
		t.Errorf("it ended with %v", err)
	}

	// The server has stopped: the port is closed.
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.addr); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

// only returns the fields of a response that want has.
func only(response, want map[string]any) map[string]any {
	response = maps.Clone(response)
	maps.DeleteFunc(response, func(key string, _ any) bool { _, ok := want[key]; return !ok })
	return response
}

func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}

// A registryClient calls api.Registry with the descriptors of the reflection service, like grpcurl.
type registryClient struct {
	t       *testing.T
	conn    *grpc.ClientConn
	service protoreflect.ServiceDescriptor
}

// reflect reads the descriptors of the server.
func (s *served) reflect() *registryClient {
	s.t.Helper()
	must := func(err error) {
		s.t.Helper()
		fail.On(s.t, err)
	}
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	s.t.Cleanup(func() { conn.Close() })
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(s.t.Context())
	must(err)
	must(stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "api.Registry"},
	}))
	answer, err := stream.Recv()
	must(err)
	must(stream.CloseSend())
	set := &descriptorpb.FileDescriptorSet{}
	for _, text := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		must(proto.Unmarshal(text, file))
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	must(err)
	found, err := files.FindDescriptorByName("api.Registry")
	must(err)
	return &registryClient{s.t, conn, found.(protoreflect.ServiceDescriptor)}
}

// call calls a method with a request in JSON and returns the responses.
func (c *registryClient) call(method, request string) []map[string]any {
	c.t.Helper()
	must := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
	}
	m := c.service.Methods().ByName(protoreflect.Name(method))
	in := dynamicpb.NewMessage(m.Input())
	must(protojson.Unmarshal([]byte(request), in))
	stream, err := c.conn.NewStream(c.t.Context(), &grpc.StreamDesc{ServerStreams: m.IsStreamingServer()}, "/api.Registry/"+method)
	must(err)
	must(stream.SendMsg(in))
	must(stream.CloseSend())
	var answers []map[string]any
	for {
		out := dynamicpb.NewMessage(m.Output())
		if err := stream.RecvMsg(out); errors.Is(err, io.EOF) {
			return answers
		} else if err != nil {
			must(err)
		}
		text, err := protojson.Marshal(out)
		must(err)
		var answer map[string]any
		must(json.Unmarshal(text, &answer))
		answers = append(answers, answer)
		if !m.IsStreamingServer() {
			return answers
		}
	}
}
