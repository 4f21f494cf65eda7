package registrytest

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// A Rule is one line of a script of faults: which requests it affects, and what happens to them.
// The first rule that applies decides. A request without a matching rule reaches the registry.
type Rule struct {
	Method string // "" is any
	// Path is a regular expression over the URL's path, unanchored; "" is any.
	Path string
	// Query is a regular expression over the URL's query as it was sent, which contains the digest
	// of a mount and of the end of an upload.
	Query string
	// Nth selects one of the matching requests, from 1; 0 is every one. A request counts for each
	// rule it matches, so that rules with Nth 1 and Nth 2 affect the first two.
	Nth    int
	Action Action
}

// An Action answers a request instead of the registry, which is next.
type Action func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Status responds with a code and headers, given as pairs of name and value. It reads the request's
// body first, and the registry does not see the request.
func Status(code int, header ...string) Action {
	return instead(func(w http.ResponseWriter) {
		for pair := range slices.Chunk(header, 2) {
			w.Header().Set(pair[0], pair[len(pair)-1])
		}
		refuse(w, code, "SCRIPTED", "")
	})
}

// instead reads the request's body and responds in place of the registry.
func instead(respond func(w http.ResponseWriter)) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		respond(w)
	}
}

// refuse responds with an error of the distribution specification.
func refuse(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":"scripted fault %d","detail":%q}]}`, code, status, detail)
}

// Reset breaks the connection before any response, like a crashed peer.
func Reset() Action {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { resetConnection(w) }
}

// Cut announces the whole body and closes the connection after n bytes of it.
func Cut(n int) Action {
	return altered(func(a *response) { a.body = a.body[:min(n, len(a.body))] })
}

// ShortBody responds with the first n bytes of the body as if they were all.
func ShortBody(n int) Action {
	return altered(func(a *response) {
		a.body = a.body[:min(n, len(a.body))]
		a.length = len(a.body)
	})
}

// WrongBytes flips one bit in the middle of the body.
func WrongBytes() Action {
	return altered(func(a *response) {
		if len(a.body) > 0 {
			a.body[len(a.body)/2] ^= 1
		}
	})
}

// Stall announces the whole body, sends n bytes of it and then nothing more
// until the client gives up or the test ends.
func Stall(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		Cut(n)(w, r, next)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Script replaces the registry's faults; without rules there are none. Counting for Nth begins
// again.
func (s *Server) Script(rules ...Rule) { s.script.set(rules) }

// A response is what the registry would have sent, and the length that is announced.
type response struct {
	header http.Header
	body   []byte
	length int
}

// altered responds as the registry does, after a change.
func altered(change func(a *response)) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		a := response{rec.Result().Header, rec.Body.Bytes(), rec.Body.Len()}
		change(&a)
		maps.Copy(w.Header(), a.header)
		if a.length > 0 { // a response to HEAD keeps its own
			w.Header().Set("Content-Length", strconv.Itoa(a.length))
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(a.body)
	}
}

// resetConnection closes the client's connection with a TCP reset. If the connection is not
// accessible, the client gets a 502.
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
