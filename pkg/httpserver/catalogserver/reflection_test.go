package catalogserver_test

import (
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

// reflectionRequests are requests, and what the client of gRPC itself reads in the responses, as text.
var reflectionRequests = []struct {
	request *grpc_reflection_v1.ServerReflectionRequest
	want    []string
}{
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}, []string{"api.Registry", "api.ExperimentalRegistry", "grpc.health.v1.Health"}},
	{&grpc_reflection_v1.ServerReflectionRequest{Host: "h", MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "api.Registry.GetPackage"}}, []string{"pkg/catalogserver/api/registry.proto", "google/protobuf/struct.proto"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "api.ExperimentalRegistry"}}, []string{"pkg/catalogserver/api/registry.proto"}}, // the import was sent
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: "google/protobuf/struct.proto"}}, []string{"google/protobuf/struct.proto"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "grpc.health.v1.Health"}}, []string{"grpc/health/v1/health.proto"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: "grpc/health/v1/health.proto"}}, []string{"grpc/health/v1/health.proto"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: "api.Package"}}, []string{"extensions of api.Package"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: "api.Absent"}}, []string{"NotFound"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingExtension{FileContainingExtension: &grpc_reflection_v1.ExtensionRequest{ContainingType: "api.Package", ExtensionNumber: 100}}}, []string{"NotFound"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: "absent.proto"}}, []string{"NotFound"}},
	{&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{}}, []string{"NotFound"}},
}

// TestReflection asks both versions of the service for everything, with the messages of gRPC itself.
func TestReflection(t *testing.T) {
	t.Parallel()
	handler, err := catalogserver.Registry(read(t, ""))
	fail.On(t, err)
	conn, err := grpc.NewClient(serve(t, handler), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fail.On(t, err)
	t.Cleanup(func() { conn.Close() })
	for _, version := range []string{"v1", "v1alpha"} {
		open := func() grpc.ClientStream {
			stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/grpc.reflection."+version+".ServerReflection/ServerReflectionInfo")
			fail.On(t, err)
			return stream
		}
		stream := open()
		for _, tc := range reflectionRequests {
			answer := &grpc_reflection_v1.ServerReflectionResponse{}
			fail.On(t, stream.SendMsg(tc.request))
			fail.On(t, stream.RecvMsg(answer))
			if !proto.Equal(answer.OriginalRequest, tc.request) || answer.ValidHost != tc.request.Host || len(answer.ProtoReflect().GetUnknown()) > 0 {
				t.Errorf("the response to %v is %v", tc.request, answer)
			}
			fail.Diff(t, tc.want, answered(t, answer))
		}
		fail.On(t, stream.CloseSend())
		if err := stream.RecvMsg(&grpc_reflection_v1.ServerReflectionResponse{}); err != io.EOF {
			t.Errorf("the stream ends with %v", err)
		}
		// A request for nothing.
		stream = open()
		fail.On(t, stream.SendMsg(&grpc_reflection_v1.ServerReflectionRequest{Host: "h"}))
		if err := stream.RecvMsg(&grpc_reflection_v1.ServerReflectionResponse{}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a request for nothing: %v", err)
		}
	}
}

// answered returns what a response has: services, the names of files, or the code of an error. Files of the
// health service must be complete.
func answered(t *testing.T, r *grpc_reflection_v1.ServerReflectionResponse) (found []string) {
	t.Helper()
	for _, s := range r.GetListServicesResponse().GetService() {
		found = append(found, s.Name)
	}
	for _, text := range r.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		fail.On(t, proto.Unmarshal(text, file))
		found = append(found, file.GetName())
		if file.GetPackage() == "grpc.health.v1" {
			files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
			fail.On(t, err)
			_, err = files.FindDescriptorByName("grpc.health.v1.Health.Check")
			fail.On(t, err)
		}
	}
	if e := r.GetAllExtensionNumbersResponse(); e != nil {
		found = append(found, "extensions of "+e.BaseTypeName)
	}
	if e := r.GetErrorResponse(); e != nil {
		found = append(found, codes.Code(e.ErrorCode).String())
	}
	return found
}

// FuzzReflection checks that no request of the reflection service makes the server fail.
func FuzzReflection(f *testing.F) {
	for _, tc := range reflectionRequests {
		text, err := proto.Marshal(tc.request)
		fail.On(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		answer, err := catalogserver.Reflect(request)
		if err != nil {
			return
		}
		response := &grpc_reflection_v1.ServerReflectionResponse{}
		if err := proto.Unmarshal(answer, response); err != nil && proto.Unmarshal(request, &grpc_reflection_v1.ServerReflectionRequest{}) == nil {
			t.Errorf("%x: %v", request, err)
		}
	})
}
