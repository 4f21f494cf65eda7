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
	requestTime = 20 * time.Second // for a request to arrive, of which nothing has a body
	stallTime   = 2 * time.Minute  // for a piece of an answer to be taken
	idleTime    = 2 * time.Minute  // between two requests of a connection
	stopTime    = 4 * time.Second  // for answers under way to end
	maxHeaders  = 64 << 10         // bytes
	maxStreams  = 250              // requests at a time, in one connection of HTTP/2
)

// Serve answers on a listener until the context ends, and closes it: new requests
// are refused, and answers under way get four seconds. It returns nil when the
// context ended. With a certificate it speaks HTTP/1.1 and HTTP/2 over TLS 1.2 or
// later, without one HTTP/1.1 as it is. Requests are logged when they are answered,
// for debugging.
func Serve(ctx context.Context, log *slog.Logger, l net.Listener, handler http.Handler, certificate *tls.Certificate) error {
	server := &http.Server{
		Handler:        logged(log, handler),
		Protocols:      new(http.Protocols),
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadTimeout:    requestTime,
		WriteTimeout:   stallTime, // blobs get more as they are taken
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

// answer counts what is answered.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController set deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// logged logs requests, also those that break off.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !log.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		a, begin := &answer{ResponseWriter: w}, time.Now()
		defer func() {
			log.Debug("request", "method", r.Method, "path", r.URL.Path, "query", r.URL.RawQuery, "from", r.RemoteAddr,
				"agent", r.UserAgent(), "status", a.status, "bytes", a.bytes, "took", time.Since(begin).Round(time.Microsecond))
		}()
		next.ServeHTTP(a, r)
	})
}
