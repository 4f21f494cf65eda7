package catalogserver_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

// TestHealthOfRegistry asks for the health of services with the client of gRPC itself.
func TestHealthOfRegistry(t *testing.T) {
	t.Parallel()
	client := grpc_health_v1.NewHealthClient(connect(t, read(t, text)))
	for service, want := range map[string]codes.Code{"": codes.OK, "api.Registry": codes.OK, "grpc.health.v1.Health": codes.OK, "api.Other": codes.NotFound} {
		request := &grpc_health_v1.HealthCheckRequest{Service: service}
		got, err := client.Check(t.Context(), request)
		if status.Code(err) != want || (err == nil) != (got.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING) {
			t.Errorf("%q: got %v, %v", service, got, err)
		}
		stream, err := client.Watch(t.Context(), request)
		fail.On(t, err)
		got, err = stream.Recv()
		if status.Code(err) != want || (err == nil) != (got.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING) {
			t.Errorf("watching %q: got %v, %v", service, got, err)
		}
	}
}

// TestDescriptionOfHealth compares the description of the health service with the one of gRPC itself.
func TestDescriptionOfHealth(t *testing.T) {
	t.Parallel()
	file := &descriptorpb.FileDescriptorProto{}
	fail.On(t, proto.Unmarshal(catalogserver.DescribeHealth(), file))
	files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	fail.On(t, err)
	for _, name := range catalogserver.HealthSymbols() {
		_, err := files.FindDescriptorByName(protoreflect.FullName(name))
		fail.On(t, err)
	}
	official := protodesc.ToFileDescriptorProto(grpc_health_v1.File_grpc_health_v1_health_proto)
	official.Options = nil                          // of other languages
	official.MessageType = official.MessageType[:2] // without those of List, which is newer
	official.Service[0].Method = []*descriptorpb.MethodDescriptorProto{official.Service[0].Method[0], official.Service[0].Method[len(official.Service[0].Method)-1]}
	fail.Diff(t, official, file, protocmp.Transform())
}
