package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
)

// A sessionServer is a registry whose uploads can break, with the peculiarities of real registries.
// It records each request with the part of the blob in it.
type sessionServer struct {
	faults map[string]func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request) // by "METHOD n", from 1
	tell   func(s *session, w http.ResponseWriter)                                               // the answer to GET; nil: as distribution
	signed bool                                                                                  // an offset that differs from the location's is refused
	least  string                                                                                // OCI-Chunk-Min-Length

	mu       sync.Mutex
	seen     map[string]int
	sessions map[string]*session
	blobs    map[string][]byte
	log      []string
	took     int // bytes of bodies that were kept
}

func (u *sessionServer) start(t *testing.T) *httptest.Server {
	u.seen, u.sessions, u.blobs = map[string]int{}, map[string]*session{}, map[string][]byte{}
	return serve(t, u.ServeHTTP)
}

type session struct {
	name string
	data []byte
}

func (u *sessionServer) location(s *session) string {
	return "/v2/org/name/blobs/uploads/" + s.name + "?at=" + strconv.Itoa(len(s.data))
}

func (u *sessionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.URL.Path == "/v2/" {
		return
	}
	line := r.Method
	if r.ContentLength > 0 {
		line += " " + r.Header.Get("Content-Range") + "+" + strconv.FormatInt(r.ContentLength, 10)
	}
	u.log = append(u.log, line)
	u.seen[r.Method]++
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	s := u.sessions[name]
	switch {
	case r.Method == http.MethodPost:
		s = &session{name: "s" + strconv.Itoa(u.seen[r.Method])}
		u.sessions[s.name] = s
		w.Header().Set("OCI-Chunk-Min-Length", u.least)
	case r.Method == http.MethodHead:
		if _, ok := u.blobs[name]; !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		return
	case s == nil:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}`)
		return
	}
	if fault := u.faults[r.Method+" "+strconv.Itoa(u.seen[r.Method])]; fault != nil {
		fault(u, s, w, r)
		return
	}
	u.answer(s, w, r)
}

func (u *sessionServer) answer(s *session, w http.ResponseWriter, r *http.Request) {
	if at := r.URL.Query().Get("at"); u.signed && r.Method != http.MethodPost && r.Method != http.MethodGet && at != strconv.Itoa(len(s.data)) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	switch r.Method {
	case http.MethodGet:
		if u.tell != nil {
			u.tell(s, w)
			return
		}
		w.Header().Set("Location", u.location(s))
		w.Header().Set("Range", fmt.Sprintf("0-%d", max(len(s.data)-1, 0)))
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodDelete:
		delete(u.sessions, s.name)
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodPatch, http.MethodPut:
		if first, _, _ := strings.Cut(r.Header.Get("Content-Range"), "-"); first != "" && first != strconv.Itoa(len(s.data)) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		if !u.take(s, r.Body) {
			return
		}
	}
	if r.Method == http.MethodPut {
		want := r.URL.Query().Get("digest")
		if digest.FromBytes(s.data).String() != want {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"errors":[{"code":"DIGEST_INVALID"}]}`)
			return
		}
		u.blobs[want] = s.data
		delete(u.sessions, s.name)
		w.WriteHeader(http.StatusCreated)
		return
	}
	w.Header().Set("Location", u.location(s))
	w.WriteHeader(http.StatusAccepted)
}

func (u *sessionServer) take(s *session, body io.Reader) bool {
	data, err := io.ReadAll(body)
	s.data = append(s.data, data...)
	u.took += len(data)
	return err == nil
}

type fault = func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request)

// breaks keeps n bytes of the body and resets the connection.
func breaks(n int64) fault {
	return func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request) {
		u.take(s, io.LimitReader(r.Body, n))
		reset(w, r)
	}
}

// says responds after it has read the body, and stores nothing of it.
func says(code int) fault {
	return func(_ *sessionServer, _ *session, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(code)
	}
}

// also does something and then forwards the request.
func also(f func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request)) fault {
	return func(u *sessionServer, s *session, w http.ResponseWriter, r *http.Request) {
		f(u, s, w, r)
		u.answer(s, w, r)
	}
}

// ends is a session that no longer exists.
func ends(u *sessionServer, s *session, w http.ResponseWriter, _ *http.Request) {
	delete(u.sessions, s.name)
	w.WriteHeader(http.StatusNotFound)
}

// discarded is a response that is not received.
type discarded struct{}

func (discarded) Header() http.Header         { return http.Header{} }
func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) WriteHeader(int)             {}
