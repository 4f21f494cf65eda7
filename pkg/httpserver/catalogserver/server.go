// Package catalogserver serves catalogs as clusters request them, so that a catalog can be tried before
// it is shipped.
//
// OLM v1 reads catalogs from catalogd over HTTP: [HTTP] serves any number of catalogs under
// /catalogs/NAME/api/v1/, as a whole or the objects that match a query. OLM classic connects to the pod
// of a CatalogSource over gRPC: [Registry] serves one catalog as the service api.Registry, with the
// responses of `opm serve`, and the services for health and reflection that OLM's probes and grpcurl
// use. [Either] puts both on one address, and [Serve] runs listeners until its context ends. They speak
// HTTP/1.1 and HTTP/2 without TLS.
//
// Catalogs stay in memory as they were read. JSON lines, messages and ClusterServiceVersions are made
// for each request. There is no authentication: a server that listens on more than the loopback address
// shows the catalog to everyone who can reach it.
//
// The HTTP API is the one of operator-controller's catalogd. The messages come from
// operator-registry (pkg/api/registry.proto).
package catalogserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/httpserver"
)

// Limits of connections.
const (
	headerTime = 10 * time.Second        // to read the headers of a request
	idleTime   = 2 * time.Minute         // between two requests of a connection
	stopTime   = 1500 * time.Millisecond // for running requests to end
	maxHeaders = 64 << 10                // bytes
	maxStreams = 100                     // concurrent calls of one connection
)

// errStopping is the cause of the contexts of requests when the server stops.
var errStopping = errors.New("the server is stopping")

// A Listener is an address and its handler.
type Listener struct {
	net.Listener
	Handler http.Handler
}

// Either serves gRPC calls with one handler and all other requests with another.
func Either(registry, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			registry.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

// Serve serves all listeners until the context ends or one of them fails, and closes them. Then calls
// that wait for something end with the code Unavailable, and the others get a second and a half. It returns nil
// if the context ended. Each request is logged with level debug.
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
