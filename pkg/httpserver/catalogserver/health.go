package catalogserver

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
)

// healthService is the service that probes ask whether a server works (grpc-proto,
// grpc/health/v1/health.proto). Its messages are coded by hand, for the same reason as those of reflection.
const healthService = "grpc.health.v1.Health"

// healthy are the services that exist. They are always healthy; "" is the server itself.
type healthy []string

// handle adds the service.
func (h healthy) handle(mux *http.ServeMux, options connect.HandlerOption) {
	options = connect.WithHandlerOptions(options, connect.WithCodec(wire{}))
	handle(mux, healthService, "Check", connect.NewUnaryHandler, h.check, options)
	handle(mux, healthService, "Watch", connect.NewServerStreamHandler, h.watch, options)
}

// check implements the method Check.
func (h healthy) check(_ context.Context, request *connect.Request[message]) (*connect.Response[message], error) {
	answer, err := h.answer(request.Msg.Bytes())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(answer), nil
}

// watch implements the method Watch. It answers once, and waits for the client or the server to end: nothing
// ever changes.
func (h healthy) watch(ctx context.Context, request *connect.Request[message], stream *connect.ServerStream[message]) error {
	answer, err := h.answer(request.Msg.Bytes())
	if err != nil {
		return err
	}
	if err := stream.Send(answer); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// answer returns the response to a HealthCheckRequest.
func (h healthy) answer(request []byte) (*message, error) {
	service := ""
	err := eachField(request, func(field protowire.Number, value []byte) {
		if field == 1 {
			service = string(value)
		}
	})
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if service != "" && !slices.Contains(h, service) {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("unknown service"))
	}
	response := &message{}
	response.Write(appendNumber(nil, 1, 1)) // the status SERVING
	return response, nil
}
