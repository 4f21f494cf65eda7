package registrytest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// A Rule is one line of a script of faults: which requests it is about, and
// what becomes of them. The first rule that applies decides; a request that no
// rule applies to reaches the registry.
type Rule struct {
	Method string // "" is any
	// Path is a regular expression over the URL's path, unanchored; "" is any.
	Path string
	// Query is one over the URL's query as it was sent, where a mount and the end
	// of an upload have their digests.
	Query string
	// Nth is which of the requests that match is meant, from 1; 0 is every one.
	// A request counts for each rule it matches, so that rules with Nth 1 and
	// Nth 2 fault the first two.
	Nth    int
	Action Action
}

// An Action answers a request in place of the registry, which is next.
type Action func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Status answers with a code and headers, given as pairs of name and value. The
// request's body is read first, and the registry sees nothing.
func Status(code int, header ...string) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		for pair := range slices.Chunk(header, 2) {
			w.Header().Set(pair[0], pair[len(pair)-1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":"SCRIPTED","message":"scripted fault %d"}]}`, code)
	}
}

// Reset breaks the connection before any answer, as a crashed peer does.
func Reset() Action {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { resetConnection(w) }
}

// Cut announces the whole body and closes the connection after n bytes of it.
func Cut(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := ask(r, next)
		a.announce(w, len(a.body))
		_, _ = w.Write(a.body[:min(n, len(a.body))])
	}
}

// ShortBody answers with the first n bytes of the body as if they were all.
func ShortBody(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := ask(r, next)
		body := a.body[:min(n, len(a.body))]
		a.announce(w, len(body))
		_, _ = w.Write(body)
	}
}

// WrongBytes flips one bit in the middle of the body.
func WrongBytes() Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := ask(r, next)
		if len(a.body) > 0 {
			a.body[len(a.body)/2] ^= 1
		}
		a.announce(w, len(a.body))
		_, _ = w.Write(a.body)
	}
}

// Stall announces the whole body, sends n bytes of it and then nothing more
// until the client gives up or the test ends.
func Stall(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := ask(r, next)
		a.announce(w, len(a.body))
		_, _ = w.Write(a.body[:min(n, len(a.body))])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Script replaces the registry's faults; without rules it works faultlessly.
// Counting for Nth begins anew.
func (s *Server) Script(rules ...Rule) { s.script.set(rules) }

// An answer is what the registry would have said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func ask(r *http.Request, next http.Handler) answer {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	return answer{rec.Code, rec.Result().Header, bytes.Clone(rec.Body.Bytes())}
}

func (a answer) announce(w http.ResponseWriter, length int) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	if length > 0 { // the answer to HEAD keeps its own
		w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	w.WriteHeader(a.status)
}

// resetConnection closes the client's connection with a TCP reset. Where the
// connection cannot be had, the client gets a 502.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	inner := conn
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		inner = c.NetConn()
	}
	if c, ok := inner.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = inner.Close()
}

// A script is a set of rules that can be replaced while requests come in.
type script struct {
	mu    sync.Mutex
	rules []activeRule
}

type activeRule struct {
	Rule
	path, query *regexp.Regexp
	seen        int
}

func (s *script) set(rules []Rule) {
	active := make([]activeRule, 0, len(rules))
	for _, r := range rules {
		active = append(active, activeRule{Rule: r, path: regexp.MustCompile(r.Path), query: regexp.MustCompile(r.Query)})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = active
}

func (s *script) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if act := s.due(r); act != nil {
			if l, ok := w.(*loggedWriter); ok {
				l.faulted()
			}
			act(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *script) due(r *http.Request) Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due Action
	for i := range s.rules {
		rule := &s.rules[i]
		if rule.Method != "" && rule.Method != r.Method || !rule.path.MatchString(r.URL.Path) || !rule.query.MatchString(r.URL.RawQuery) {
			continue
		}
		rule.seen++
		if due == nil && (rule.Nth == 0 || rule.Nth == rule.seen) {
			due = rule.Action
		}
	}
	return due
}
