// Package catalogserver serves catalogs as clusters ask for them, so that one can
// be tried before it is shipped.
//
// OLM v1 reads catalogs from catalogd, by HTTP: [HTTP] serves any number of
// catalogs under /catalogs/NAME/api/v1/, everything at once or what a query
// picks. OLM classic asks the pod of a CatalogSource, by gRPC: [Registry] serves
// one catalog as the service api.Registry, with the answers that `opm serve`
// gives, beside the services for health and reflection that OLM's probes and
// grpcurl use. [Either] puts both on one address, and [Serve] runs listeners
// until its context ends. They speak HTTP/1.1 and HTTP/2 without TLS.
//
// Catalogs are held in memory as they were read. Lines of JSON, messages and
// ClusterServiceVersions are made when they are asked for. Nothing here checks
// who asks; whoever listens on more than loopback shows the catalog to everyone
// there.
//
// The HTTP API is that of operator-controller's catalogd, the messages are those
// of operator-registry (pkg/api/registry.proto).
package catalogserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
	"github.com/gantry-mirror/gantry/pkg/httpserver"
)

// Limits of connections.
const (
	headerTime = 10 * time.Second // for a request's headers to arrive
	idleTime   = 2 * time.Minute  // between two requests of a connection
	stopTime   = 5 * time.Second  // for running requests to end
	maxHeaders = 64 << 10         // bytes
	maxStreams = 100              // calls at a time, in one connection
)

// errStopping is why requests end when the server does.
var errStopping = errors.New("the server is stopping")

// A Listener is an address and what is served on it.
type Listener struct {
	net.Listener
	Handler http.Handler
}

// Either serves gRPC calls with one handler and everything else with another.
func Either(registry, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rpc.IsCall(r) {
			registry.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

// Serve serves all listeners until the context ends, or one of them fails, and
// closes them. At the end calls that wait for something are told that the server
// stops, and the others get five seconds. It returns nil when the context ended.
// Each request is logged as it comes, for debugging.
func Serve(ctx context.Context, log *slog.Logger, listeners ...Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		group.Go(func() error { return serve(ctx, log, l) })
	}
	return group.Wait()
}

// serve serves one listener.
func serve(ctx context.Context, log *slog.Logger, l Listener) error {
	requests, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(errStopping)
	server := &http.Server{
		Handler:           logged(log, l.Handler),
		Protocols:         new(http.Protocols),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaders,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	defer context.AfterFunc(ctx, func() { stop(errStopping) })()
	return httpserver.Run(ctx, server, l, stopTime)
}

// logged logs requests.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "query", r.URL.RawQuery, "from", r.RemoteAddr)
		next.ServeHTTP(w, r)
	})
}
