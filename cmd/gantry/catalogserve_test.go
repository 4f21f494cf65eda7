package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// serveTime limits how long a server may take to start and to stop, so that a test does not hang.
const serveTime = 30 * time.Second

// A served is a running gantry catalog serve.
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	said chan string // receives all of stderr when the program ends
}

var servedOn = regexp.MustCompile(`serving \S+ on (\S+), as (http://\S+); end with Ctrl-C`)

// startServe starts the program and waits until it prints its address.
func startServe(w *fixture, url string, args ...string) *served {
	t := w.t
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), serveTime)
	t.Cleanup(stop)
	s := &served{t: t, said: make(chan string, 1)}
	s.cmd = w.process(ctx, append([]string{"catalog", "serve", "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, _ := lines.ReadString('\n') // an incomplete line fails below
	m := servedOn.FindStringSubmatch(line)
	if m == nil || m[2] != "http://"+m[1]+url {
		rest, _ := io.ReadAll(lines)
		t.Fatalf("printed %s%s, want its address and %s", line, rest, url)
	}
	s.addr = m[1]
	go func() {
		rest, _ := io.ReadAll(lines)
		s.said <- string(rest)
	}()
	return s
}

// get sends a request to the HTTP API and checks the status of the response.
func (s *served) get(path string, status int) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode != status {
		s.t.Errorf("GET %s: %s, want %d\n%s", path, answer.Status, status, text)
	}
	return string(text)
}

// end stops the program with a signal. It must succeed and print nothing.
func (s *served) end(signal os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
	said := <-s.said
	if err := s.cmd.Wait(); err != nil || said != "" {
		s.t.Errorf("after %v it ended with %v and printed %q", signal, err, said)
	}
}

func TestCatalogServe(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	rendered := w.must("catalog", "render", w.path("zoo")).stdout
	s := startServe(w, "/catalogs/operator-index/api/v1/all", zooRef, "--workspace", w.path("none"))
	api := "/catalogs/operator-index/api/v1/"
	if diff := cmp.Diff(sortedLines(rendered), sortedLines(s.get(api+"all", http.StatusOK))); diff != "" {
		t.Errorf("all objects differ from those of the folder: %s", diff)
	}
	metas := s.get(api+"metas?schema=olm.bundle&package=otter", http.StatusOK)
	if n := strings.Count(metas, "\n"); n != 6 || strings.Count(metas, `"name":"otter.v1.`) != 6 {
		t.Errorf("%d objects are bundles of otter, want 6:\n%s", n, metas)
	}
	s.get(api+"metas?color=red", http.StatusBadRequest)
	s.get("/catalogs/zoo/api/v1/all", http.StatusNotFound)

	r := s.reflect()
	var names []string
	for _, p := range r.call("ListPackages", `{}`) {
		names = append(names, p["name"].(string))
	}
	if diff := cmp.Diff([]string{"heron", "otter", "pond", "vole"}, names); diff != "" {
		t.Errorf("packages: %s", diff)
	}
	bundles := r.call("ListBundles", `{}`)
	if len(bundles) != 10 { // otter.v1.3.0 is in two channels
		t.Errorf("%d bundles, want 10", len(bundles))
	}
	i := slices.IndexFunc(bundles, func(b map[string]any) bool { return b["csvName"] == "otter.v1.1.1" })
	if i < 0 {
		t.Fatalf("otter.v1.1.1 is not among %v", bundles)
	}
	one := map[string]any{"csvName": "otter.v1.1.1", "version": "1.1.1", "packageName": "otter", "channelName": "stable", "replaces": "otter.v1.0.0", "skips": []any{"otter.v1.1.0"}}
	if diff := cmp.Diff(one, only(bundles[i], one)); diff != "" {
		t.Errorf("the bundle in the list: %s", diff)
	}
	// Like opm, GetBundle does not return the edges of the bundle.
	got := r.call("GetBundle", `{"pkgName": "otter", "channelName": "stable", "csvName": "otter.v1.1.1"}`)[0]
	delete(one, "replaces")
	delete(one, "skips")
	if diff := cmp.Diff(one, only(got, one)); diff != "" {
		t.Errorf("the bundle: %s", diff)
	}
	if !strings.Contains(got["bundlePath"].(string), "/zoo/otter-bundle@sha256:") {
		t.Errorf("the bundle's image is %v", got["bundlePath"])
	}
	s.end(os.Interrupt)

	// The server has stopped: the port is closed.
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.addr); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

// TestCatalogServeEnds stops the server with the other signal while a client keeps its connections.
// Catalogs that cannot be served and wrong addresses are refused.
func TestCatalogServeEnds(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.write("catalog.yaml", "schema: olm.package\nname: a\ndefaultChannel: x\n---\nschema: olm.channel\npackage: a\nname: x\nentries: [{name: a.v1}]\n---\n"+
		"schema: olm.bundle\npackage: a\nname: a.v1\nimage: quay.io/a/a:v1\nproperties: [{type: olm.package, value: {packageName: a, version: 1.0.0}}]\n")
	s := startServe(w, "/catalogs/mine/api/v1/all", w.path("catalog.yaml"), "--name", "mine", "--workspace", w.path("none"))
	s.get("/catalogs/mine/api/v1/all", http.StatusOK)
	s.reflect().call("ListPackages", `{}`)

	w.refuse(exitUsage, []string{"--listen", s.addr, "in use"}, "catalog", "serve", w.path("catalog.yaml"), "--listen", s.addr)
	w.refuse(exitUsage, []string{"Mine"}, "catalog", "serve", w.path("catalog.yaml"), "--listen", "127.0.0.1:0", "--name", "Mine")
	w.refuse(exitUsage, []string{"no such file"}, "catalog", "serve", w.path("absent.yaml"))
	s.end(syscall.SIGTERM)
}

// TestCatalogServeAddress reads the address from stdout if a free port was selected.
func TestCatalogServeAddress(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.write("catalog.yaml", "schema: x\n")
	ctx, stop := context.WithTimeout(t.Context(), serveTime)
	defer stop()
	cmd := w.process(ctx, "catalog", "serve", w.path("catalog.yaml"), "--listen", "127.0.0.1:0", "--output", "json")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var at struct {
		Version      int
		Address, URL string
	}
	if err := json.NewDecoder(stdout).Decode(&at); err != nil || at.Version != 1 {
		t.Fatalf("printed %+v, %v", at, err)
	}
	s := &served{t: t, addr: at.Address}
	if got := s.get(strings.TrimPrefix(at.URL, "http://"+at.Address), http.StatusOK); got != "{\"schema\":\"x\"}\n" {
		t.Errorf("served %q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
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
		if err != nil {
			s.t.Fatal(err)
		}
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
