package rpc

import (
	"context"

	"google.golang.org/protobuf/encoding/protowire"
)

// What the health service says of a service (ServingStatus).
const (
	serving        = 1
	serviceUnknown = 3
)

// healthFile describes the service of [Health].
func healthFile() File {
	const request, response = "grpc.health.v1.HealthCheckRequest", "grpc.health.v1.HealthCheckResponse"
	return File{
		Name: "grpc/health/v1/health.proto", Package: "grpc.health.v1",
		Messages: []Message{
			{Name: "HealthCheckRequest", Fields: []Field{{Name: "service", Number: 1}}},
			{
				Name: "HealthCheckResponse", Fields: []Field{{Name: "status", Number: 1, Type: "enum " + response + ".ServingStatus"}},
				Enum: Enum{Name: "ServingStatus", Values: []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}},
			},
		},
		Services: []Service{{Name: "Health", Calls: []Signature{
			{Name: "Check", Takes: request, Gives: response},
			{Name: "Watch", Takes: request, Gives: response, ManyOut: true},
		}}},
	}
}

// Health is the service grpc.health.v1.Health, which OLM and the kubelet probe,
// for services that are there for as long as the server runs: the named ones,
// and the server as a whole, whose name is "".
func Health(services ...string) (Methods, File) {
	known := map[string]bool{"": true, "grpc.health.v1.Health": true}
	for _, name := range services {
		known[name] = true
	}
	asked := func(call *Call) (string, error) {
		request, err := call.Request()
		if err != nil {
			return "", err
		}
		fields, err := ParseFields(request)
		return fields[1], err
	}
	status := func(of uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), of)
	}
	return Methods{
		"/grpc.health.v1.Health/Check": func(_ context.Context, call *Call) error {
			name, err := asked(call)
			if err != nil {
				return err
			}
			if !known[name] {
				return Errorf(NotFound, "there is no service %s", name)
			}
			return call.Send(status(serving))
		},
		"/grpc.health.v1.Health/Watch": func(ctx context.Context, call *Call) error {
			name, err := asked(call)
			if err != nil {
				return err
			}
			is := status(serving)
			if !known[name] {
				is = status(serviceUnknown)
			}
			if err := call.Send(is); err != nil {
				return err
			}
			<-ctx.Done() // nothing changes until the server ends, and the call with it
			return ctx.Err()
		},
	}, healthFile()
}
