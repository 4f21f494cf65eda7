package registrytest

import (
	"io"
	"log"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Request is one request that reached a registry's front, and how it ended.
type Request struct {
	Method string
	Path   string
	Query  string
	Range  string // the Range header
	// Status is the status code of the response; 0 is a connection that was reset.
	Status int
	// Authorized reports whether the client sent credentials.
	Authorized bool
	// Faulted reports whether a rule of the script answered.
	Faulted bool
	// Sent is the number of bytes of the response's body that were written to the connection. Whole
	// reports that they are as many as announced and that no write failed; the client may still
	// have disconnected without reading them.
	Sent  int64
	Whole bool
}

// Kind is the request's method and subject: "GET blob", "HEAD manifest", "POST mount", "PATCH
// upload", "GET token" and so on. "POST mount" is a request for a mount; its Status is 201 if
// mounted, 202 if not.
func (r Request) Kind() string { return r.Method + " " + subject(r) }

// Digest is the digest of the blob or manifest that the request names: in its path, as a mount, or
// as the end of an upload. It is "" if the request names none.
func (r Request) Digest() digest.Digest {
	q, err := url.ParseQuery(r.Query)
	if err != nil {
		return ""
	}
	for _, name := range []string{q.Get("mount"), q.Get("digest"), r.Path[strings.LastIndexByte(r.Path, '/')+1:]} {
		if d, err := digest.Parse(name); err == nil {
			return d
		}
	}
	return ""
}

// Repository is the repository in the request's path, or "".
func (r Request) Repository() string { return repositoryOf(r.Path) }

func subject(r Request) string {
	rest, ok := strings.CutPrefix(r.Path, "/v2/")
	switch {
	case r.Path == "/token":
		return "token"
	case !ok:
		return "other"
	case rest == "":
		return "ping"
	case rest == "_catalog":
		return "catalog"
	case strings.HasSuffix(rest, "/tags/list"):
		return "tags"
	case strings.Contains(rest, "/referrers/"):
		return "referrers"
	case strings.Contains(rest, "/manifests/"):
		return "manifest"
	case strings.Contains(rest, "/blobs/uploads/"):
		if q, err := url.ParseQuery(r.Query); err == nil && q.Has("mount") {
			return "mount"
		}
		return "upload"
	case strings.Contains(rest, "/blobs/"):
		return "blob"
	}
	return "other"
}

// Requests counts the requests by their Kind since the start or ResetLog.
func (s *Server) Requests() map[string]int {
	counts := map[string]int{}
	for _, r := range s.Log() {
		counts[r.Kind()]++
	}
	return counts
}

// Log returns the requests in the order in which they arrived. A request is logged before its
// client receives any part of the response.
func (s *Server) Log() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	list := make([]Request, 0, len(s.log.requests))
	list = append(list, elements.Map(s.log.requests, func(r *Request) Request { return *r })...)
	return list
}

// ResetLog deletes the requests from the log.
func (s *Server) ResetLog() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.requests = nil
}

type requestLog struct {
	mu       sync.Mutex
	requests []*Request
}

func (l *requestLog) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &Request{
			Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Range: r.Header.Get("Range"),
			Authorized: r.Header.Get("Authorization") != "",
		}
		l.mu.Lock()
		l.requests = append(l.requests, req)
		l.mu.Unlock()
		logged := &loggedWriter{ResponseWriter: w, log: l, request: req}
		next.ServeHTTP(logged, r)
		logged.ended()
	})
}

// A loggedWriter logs a response before sending it.
type loggedWriter struct {
	http.ResponseWriter
	log     *requestLog
	request *Request
	broken  bool // a write failed
}

func (w *loggedWriter) note(f func(*Request)) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	f(w.request)
}

func (w *loggedWriter) status(code int) {
	w.note(func(r *Request) {
		if r.Status < http.StatusOK { // 1xx come before the response
			r.Status = code
		}
	})
}

func (w *loggedWriter) faulted() { w.note(func(r *Request) { r.Faulted = true }) }

// ended is not called if a handler panicked.
func (w *loggedWriter) ended() {
	announced, ok := w.announced()
	w.note(func(r *Request) { r.Whole = r.Status != 0 && !w.broken && (!ok || r.Sent == announced) })
}

func (w *loggedWriter) announced() (length int64, ok bool) {
	length, err := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
	return length, err == nil
}

// WriteHeader reports the code and sends it.
func (w *loggedWriter) WriteHeader(code int) {
	w.status(code)
	w.ResponseWriter.WriteHeader(code)
}

// Write sends a part of the body; without WriteHeader the code is 200. It counts the bytes before
// sending them, because the client may look at the log as soon as it has them.
func (w *loggedWriter) Write(p []byte) (int, error) {
	w.status(http.StatusOK)
	announced, ok := w.announced()
	w.note(func(r *Request) {
		r.Sent += int64(len(p))
		r.Whole = !w.broken && ok && r.Sent == announced
	})
	n, err := w.ResponseWriter.Write(p)
	if n < len(p) || err != nil {
		w.note(func(r *Request) {
			w.broken = true
			r.Sent -= int64(len(p) - n)
			r.Whole = false
		})
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *loggedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func discardLogger() *log.Logger { return log.New(io.Discard, "", 0) }
