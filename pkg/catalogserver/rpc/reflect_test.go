package rpc_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
)

// known serves health and reflection, and a file that imports another.
func known(t *testing.T) *grpc.ClientConn {
	t.Helper()
	methods, health := rpc.Health("s.S")
	reflection, err := rpc.Reflect([]rpc.File{health, {
		Name: "t.proto", Package: "t", Imports: []string{"google/protobuf/struct.proto"},
	}, {
		Name: "s.proto", Package: "s", Imports: []string{"t.proto", "google/protobuf/struct.proto"},
		Messages: []rpc.Message{{Name: "M", Fields: []rpc.Field{{Name: "f", Number: 7, Type: "google.protobuf.Struct", Repeated: true}}}},
		Services: []rpc.Service{{Name: "S", Calls: []rpc.Signature{{Name: "Do", Takes: "s.M", Gives: "s.M"}}}},
	}}, structpb.File_google_protobuf_struct_proto)
	if err != nil {
		t.Fatal(err)
	}
	for path, method := range reflection {
		methods[path] = method
	}
	conn, _ := start(t, methods)
	return conn
}

func TestHealth(t *testing.T) {
	t.Parallel()
	client := grpc_health_v1.NewHealthClient(known(t))
	for service, want := range map[string]codes.Code{"": codes.OK, "s.S": codes.OK, "grpc.health.v1.Health": codes.OK, "s.T": codes.NotFound} {
		got, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if status.Code(err) != want || err == nil && got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%q: got %v, %v", service, got, err)
		}
	}
	for service, want := range map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{
		"s.S": grpc_health_v1.HealthCheckResponse_SERVING,
		"s.T": grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := stream.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("%q: got %v, %v", service, got, err)
		}
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(known(t)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type request = grpc_reflection_v1.ServerReflectionRequest
	ask := func(r *request) *grpc_reflection_v1.ServerReflectionResponse {
		t.Helper()
		r.Host = "me"
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		got, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got.GetValidHost() != "me" || !proto.Equal(got.GetOriginalRequest(), r) {
			t.Errorf("got %v, an answer to something else", got)
		}
		return got
	}

	var services []string
	for _, s := range ask(&request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		services = append(services, s.GetName())
	}
	want := []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection", "s.S"}
	if d := cmp.Diff(want, services); d != "" {
		t.Errorf("services (-want +got):\n%s", d)
	}

	for _, symbol := range []string{"s.S", "s.S.Do", "s.M", "s.M.f"} {
		got := ask(&request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}})
		if d := cmp.Diff([]string{"s.proto", "t.proto", "google/protobuf/struct.proto"}, fileNames(t, got.GetFileDescriptorResponse().GetFileDescriptorProto())); d != "" {
			t.Errorf("%s (-want +got):\n%s", symbol, d)
		}
	}
	got := ask(&request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: "google/protobuf/struct.proto"}})
	if d := cmp.Diff([]string{"google/protobuf/struct.proto"}, fileNames(t, got.GetFileDescriptorResponse().GetFileDescriptorProto())); d != "" {
		t.Errorf("by name (-want +got):\n%s", d)
	}

	for _, tc := range []struct {
		name string
		r    *request
		code codes.Code
	}{
		{"symbol", &request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "s.N"}}, codes.NotFound},
		{"file", &request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: "n.proto"}}, codes.NotFound},
		{"extension", &request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingExtension{
			FileContainingExtension: &grpc_reflection_v1.ExtensionRequest{ContainingType: "s.M", ExtensionNumber: 1},
		}}, codes.NotFound},
		{"extensions", &request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: "s.M"}}, codes.NotFound},
		{"nothing", &request{}, codes.InvalidArgument},
	} {
		if got := ask(tc.r).GetErrorResponse(); codes.Code(got.GetErrorCode()) != tc.code || got.GetErrorMessage() == "" {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.code)
		}
	}

	// The older version, which grpcurl falls back to, has the same messages.
	old, err := known(t).NewStream(t.Context(), bidi, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
	if err != nil {
		t.Fatal(err)
	}
	if err := old.SendMsg(&request{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	var answer grpc_reflection_v1.ServerReflectionResponse
	if err := old.RecvMsg(&answer); err != nil || len(answer.GetListServicesResponse().GetService()) != len(want) {
		t.Errorf("v1alpha: got %v, %v", &answer, err)
	}
}

func fileNames(t *testing.T, files [][]byte) []string {
	t.Helper()
	var names []string
	for _, text := range files {
		var file descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		names = append(names, file.GetName())
	}
	return names
}

// The descriptions are those that gRPC generates from its own files, as far as
// they go.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(known(t)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []protoreflect.FileDescriptor{
		grpc_health_v1.File_grpc_health_v1_health_proto,
		grpc_reflection_v1.File_grpc_reflection_v1_reflection_proto,
		grpc_reflection_v1alpha.File_grpc_reflection_v1alpha_reflection_proto,
	} {
		if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: of.Path()},
		}); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil || len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) != 1 {
			t.Fatalf("%s: got %v, %v", of.Path(), answer, err)
		}
		var got descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(answer.GetFileDescriptorResponse().GetFileDescriptorProto()[0], &got); err != nil {
			t.Fatal(err)
		}
		want := protodesc.ToFileDescriptorProto(of)
		// Health has a method List by now, which is not served.
		want.MessageType = slices.DeleteFunc(want.MessageType, func(m *descriptorpb.DescriptorProto) bool {
			return m.GetName() == "HealthListRequest" || m.GetName() == "HealthListResponse"
		})
		for _, s := range want.Service {
			s.Method = slices.DeleteFunc(s.Method, func(m *descriptorpb.MethodDescriptorProto) bool { return m.GetName() == "List" })
		}
		d := cmp.Diff(want, &got, protocmp.Transform(),
			protocmp.IgnoreFields(&descriptorpb.FileDescriptorProto{}, "options"),
			protocmp.IgnoreFields(&descriptorpb.FieldDescriptorProto{}, "json_name"),
			protocmp.IgnoreDefaultScalars(), protocmp.SortRepeatedFields(&descriptorpb.FileDescriptorProto{}, "message_type"),
		)
		if d != "" {
			t.Errorf("%s (-want +got):\n%s", of.Path(), d)
		}
	}
}
