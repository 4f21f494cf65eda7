package registryserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gantry-mirror/gantry/pkg/httpserver"
)

// Limits of connections.
const (
	requestTime = 20 * time.Second        // to receive a request; none has a body
	stallTime   = 2 * time.Minute         // for the client to read a piece of a response
	idleTime    = 2 * time.Minute         // between two requests on a connection
	stopTime    = 1500 * time.Millisecond // for responses in progress to end
	maxHeaders  = 64 << 10                // bytes
	maxStreams  = 250                     // concurrent requests on one HTTP/2 connection
)

// Serve responds to requests on a listener until the context ends, and closes it: new requests are
// refused, and responses in progress may take another second and a half. It returns nil when the context
// ended. With a certificate it serves HTTP/1.1 and HTTP/2 over TLS 1.2 or later, otherwise plain
// HTTP/1.1. Finished requests are logged at debug level.
func Serve(ctx context.Context, log *slog.Logger, l net.Listener, handler http.Handler, certificate *tls.Certificate) error {
	server := &http.Server{
		Handler:        logged(log, handler),
		Protocols:      new(http.Protocols),
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadTimeout:    requestTime,
		WriteTimeout:   stallTime, // extended while a blob is read
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeaders,
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	server.Protocols.SetHTTP1(true)
	if certificate != nil {
		server.Protocols.SetHTTP2(true)
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}}
	}
	return httpserver.Run(ctx, server, l, stopTime)
}

// logged logs requests, including aborted ones.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !log.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		a, begin := &countingWriter{ResponseWriter: w, status: http.StatusOK}, time.Now()
		defer func() {
			log.Debug("request", "method", r.Method, "path", r.URL.Path, "query", r.URL.RawQuery, "from", r.RemoteAddr,
				"agent", r.UserAgent(), "status", a.status, "bytes", a.sent, "took", time.Since(begin).Round(time.Microsecond))
		}()
		next.ServeHTTP(a, r)
	})
}
