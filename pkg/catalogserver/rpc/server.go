// Package rpc is the server half of gRPC, as an [http.Handler] on HTTP/2.
//
// OLM classic asks catalogs by gRPC. What that takes is small: a POST to
// /SERVICE/METHOD, messages with five bytes before each, a deadline in a header,
// and the outcome in trailers. net/http has the HTTP/2 below it, also without
// TLS. The module google.golang.org/grpc would double the program's size, mostly
// because it makes the linker keep what nobody calls; so here is the protocol,
// as the gRPC project describes it (doc/PROTOCOL-HTTP2.md), for every kind of
// call.
//
// A [Server] finds the [Method] of a request. A method is given a [Call] to
// receive and send messages with, encoded as it likes; the error that it returns
// is the outcome, an [*Error] with its code, another with Unknown. Its context
// ends with the caller's deadline, with the caller, and with the server.
//
// Messages from callers are bounded, and compressed ones are refused, as gRPC
// demands of a server that offers no compression. [Health] and [Reflect] are the
// two services that every client knows.
package rpc

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// defaultMaxRequest is how long a message from a caller may be, in bytes.
const defaultMaxRequest = 1 << 20

// contentType is that of every request and answer.
const contentType = "application/grpc"

// A Method serves one call. It returns nil, or the error that is the outcome. It
// must not use the call after it has returned.
type Method func(ctx context.Context, call *Call) error

// Methods are methods by name: "/package.Service/Method".
type Methods map[string]Method

// Services are the full names of the services, sorted.
func (m Methods) Services() []string {
	names := map[string]bool{}
	for path := range m {
		service, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		names[service] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// A Server serves methods.
type Server struct {
	Methods Methods
	// MaxRequest is how long a message from a caller may be, in bytes; 0 is
	// 1 MiB.
	MaxRequest int
}

// ServeHTTP serves a call. What is no gRPC at all gets a status of HTTP.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.ProtoMajor < 2:
		http.Error(w, "gRPC needs HTTP/2", http.StatusHTTPVersionNotSupported)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a gRPC call is a POST", http.StatusMethodNotAllowed)
		return
	case !IsCall(r):
		w.Header().Set("Accept-Post", contentType)
		http.Error(w, "a gRPC call has the content type "+contentType, http.StatusUnsupportedMediaType)
		return
	}
	call := &Call{
		w: w, r: r, controller: http.NewResponseController(w),
		maxRequest: cmp.Or(s.MaxRequest, defaultMaxRequest),
	}
	call.finish(s.serve(r, call))
}

// IsCall reports whether a request says of itself that it is a gRPC call, with
// messages in protobuf.
func IsCall(r *http.Request) bool {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == contentType || media == contentType+"+proto"
}

// serve runs the method of a request and returns the outcome.
func (s *Server) serve(r *http.Request, call *Call) error {
	method, ok := s.Methods[r.URL.Path]
	if !ok {
		service, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if slices.Contains(s.Methods.Services(), service) {
			return Errorf(Unimplemented, "service %s has no method %s", service, name)
		}
		return Errorf(Unimplemented, "there is no service %s", service)
	}
	ctx := r.Context()
	if text := r.Header.Get("Grpc-Timeout"); text != "" {
		timeout, err := parseTimeout(text)
		if err != nil {
			return err
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}

	// Waiting for a message ends with the context. The controller must not be
	// used after the request, so its last use is waited for.
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = call.controller.SetReadDeadline(time.Unix(1, 0)) // best effort: the caller may be gone
	})
	err := method(ctx, call)
	if !stop() {
		<-done
	}
	if err != nil && ctx.Err() != nil {
		return ended(ctx)
	}
	return err
}

// ended is the outcome of a call whose context is over: its deadline passed, its
// caller went away, or the server is stopping and says why as the cause.
func ended(ctx context.Context) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		return Errorf(DeadlineExceeded, "the caller's deadline has passed")
	case errors.Is(cause, context.Canceled):
		return Errorf(Canceled, "the call was cancelled")
	default:
		return Errorf(Unavailable, "%w", cause)
	}
}
