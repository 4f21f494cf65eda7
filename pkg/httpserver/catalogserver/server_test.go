package catalogserver_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

// TestServeStops checks that calls that would wait forever do not keep the server from stopping,
// that their callers receive the reason, and that requests are logged.
func TestServeStops(t *testing.T) {
	t.Parallel()
	registry, err := catalogserver.Registry(read(t, text))
	fail.On(t, err)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fail.On(t, err)
	var log bytes.Buffer // only read after the server ended
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() {
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		done <- catalogserver.Serve(ctx, logger, catalogserver.Listener{Listener: l, Handler: registry})
	}()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fail.On(t, err)
	defer conn.Close()
	stream, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	fail.On(t, err)
	_, err = stream.Recv()
	fail.On(t, err)
	stop()
	_, err = stream.Recv()
	if s := status.Convert(err); s.Code() != codes.Unavailable || s.Message() != "the server is stopping" {
		t.Errorf("got %v", err)
	}
	fail.On(t, <-done)
	if !strings.Contains(log.String(), " path=/grpc.health.v1.Health/Watch ") {
		t.Errorf("got %s", &log)
	}
}
