package catalogserver_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

// TestServeStops checks that calls that would wait forever do not keep the server from stopping,
// and that their callers receive the reason.
func TestServeStops(t *testing.T) {
	t.Parallel()
	registry, err := catalogserver.Registry(read(t, text))
	fail.On(t, err)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fail.On(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- catalogserver.Serve(ctx, slog.New(slog.DiscardHandler), catalogserver.Listener{Listener: l, Handler: registry})
	}()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fail.On(t, err)
	defer conn.Close()
	stream, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	fail.On(t, err)
	_, err = stream.Recv()
	fail.On(t, err)
	begun := time.Now()
	stop()
	_, err = stream.Recv()
	if s := status.Convert(err); s.Code() != codes.Unavailable || s.Message() != "the server is stopping" {
		t.Errorf("got %v", err)
	}
	fail.On(t, <-done)
	t.Logf("stopped in %v, with a connection open", time.Since(begun))
}
