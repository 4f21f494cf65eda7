package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// An uploadServer is a registry's upload API in the form of a script: what it
// refuses, and a record of what came.
type uploadServer struct {
	mu        sync.Mutex
	mounts    map[string]bool // repositories that blobs may be mounted from
	refusePut int             // status for a PUT that carries a body
	maxBody   int64
	put       []http.HandlerFunc // answers to PUT, before the API is back to normal
	sessions  map[string][]byte
	blobs     map[string][]byte
	log       []string
}

func (u *uploadServer) start(t *testing.T) *httptest.Server {
	u.sessions, u.blobs = map[string][]byte{}, map[string][]byte{}
	return serve(t, u.ServeHTTP)
}

func (u *uploadServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.URL.Path == "/v2/" {
		return
	}
	q := r.URL.Query()
	line := r.Method
	if from := q.Get("from"); from != "" {
		line += " from " + from
	}
	u.log = append(u.log, line)
	session := q.Get("_state")
	switch r.Method {
	case http.MethodPost:
		if u.mounts[q.Get("from")] {
			w.WriteHeader(http.StatusCreated)
			return
		}
		if q.Get("from") == "forbidden" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		session = "s+1/%=" + string(rune('a'+len(u.sessions)))
		u.sessions[session] = nil
	case http.MethodPut, http.MethodPatch:
		if _, ok := u.sessions[session]; !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if len(u.put) > 0 && r.Method == http.MethodPut {
			answer := u.put[0]
			u.put = u.put[1:]
			answer(w, r)
			return
		}
		if u.maxBody > 0 && r.ContentLength > u.maxBody {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if r.Method == http.MethodPut && r.ContentLength != 0 && u.refusePut != 0 {
			w.WriteHeader(u.refusePut)
			return
		}
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		u.sessions[session] = append(u.sessions[session], data...)
		if r.Method == http.MethodPut {
			if digest.FromBytes(u.sessions[session]).String() != q.Get("digest") {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"errors":[{"code":"DIGEST_INVALID"}]}`)
				return
			}
			u.blobs[q.Get("digest")] = u.sessions[session]
			delete(u.sessions, session)
			w.WriteHeader(http.StatusCreated)
			return
		}
	case http.MethodDelete:
		delete(u.sessions, session)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	// Relative, and with characters in the query that must come back as they are.
	w.Header().Set("Location", "../uploads/go?_state="+strings.NewReplacer("+", "%2B", "%", "%25", "=", "%3D").Replace(session))
	w.WriteHeader(http.StatusAccepted)
}

func TestPushBlob(t *testing.T) {
	big := bytes.Repeat([]byte("gantry!\n"), 2<<20) // 16 MiB
	small := []byte("small")
	for _, tc := range []struct {
		name    string
		server  *uploadServer
		blob    []byte
		from    []string
		mounted bool
		log     []string
	}{
		{name: "one POST, one PUT", blob: small, log: []string{"POST", "PUT"}},
		{name: "no bytes", blob: []byte{}, log: []string{"POST", "PUT"}},
		{name: "mounted", server: &uploadServer{mounts: map[string]bool{"a/b": true}}, blob: small, from: []string{"a/b"}, mounted: true, log: []string{"POST from a/b"}},
		{name: "a refused mount is the open upload", blob: small, from: []string{"a/b", "c/d"}, log: []string{"POST from a/b", "PUT"}},
		{
			name: "a large blob asks on", server: &uploadServer{mounts: map[string]bool{"c/d": true}}, blob: big, from: []string{"a/b", "c/d"},
			mounted: true, log: []string{"POST from a/b", "DELETE", "POST from c/d"},
		},
		{name: "a forbidden mount", blob: small, from: []string{"forbidden"}, log: []string{"POST from forbidden", "POST", "PUT"}},
		{name: "not from itself", blob: small, from: []string{"org/name"}, log: []string{"POST", "PUT"}},
		{name: "no PUT with a body", server: &uploadServer{refusePut: 405}, blob: small, log: []string{"POST", "PUT", "DELETE", "POST", "PATCH", "PUT"}},
		{name: "bodies of 8 MiB at most", server: &uploadServer{maxBody: 8 << 20}, blob: big, log: []string{"POST", "PUT", "DELETE", "POST", "PATCH", "PUT"}},
		{name: "503 opens the source again", server: &uploadServer{put: repeat(1, status(503))}, blob: big, log: []string{"POST", "PUT", "GET", "DELETE", "POST", "PUT"}},
		{name: "a reset opens the source again", server: &uploadServer{put: repeat(1, reset)}, blob: small, log: []string{"POST", "PUT", "GET", "DELETE", "POST", "PUT"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := tc.server
			if u == nil {
				u = &uploadServer{}
			}
			s := u.start(t)
			c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock()})
			mounted, err := c.PushBlob(t.Context(), repoAt(s, "org/name"), describe(tc.blob), tc.from, opener(tc.blob))
			if err != nil || mounted != tc.mounted {
				t.Fatalf("mounted = %v, %v", mounted, err)
			}
			fail.Diff(t, tc.log, u.log)
			if got, ok := u.blobs[describe(tc.blob).Digest.String()]; !tc.mounted && (!ok || !bytes.Equal(got, tc.blob)) {
				t.Errorf("the registry has %d bytes of it, want %d", len(got), len(tc.blob))
			}
			if len(u.sessions) > 0 {
				t.Errorf("%d uploads stay open", len(u.sessions))
			}
		})
	}
}

// TestNextBlob pushes a second blob after what a registry refused, which is not tried again, and after a session that it
// lost, which is no refusal.
func TestNextBlob(t *testing.T) {
	for _, tc := range []struct {
		server *uploadServer
		log    []string
	}{
		{&uploadServer{refusePut: 405}, []string{"POST", "PUT", "DELETE", "POST", "PATCH", "PUT", "POST", "PATCH", "PUT"}},
		{&uploadServer{put: repeat(1, status(404))}, []string{"POST", "PUT", "DELETE", "POST", "PUT", "POST", "PUT"}},
	} {
		s := tc.server.start(t)
		c := newClient(t, remote.Options{Side: remote.Destination})
		for _, b := range []string{"one", "two"} {
			_, err := c.PushBlob(t.Context(), repoAt(s, "a"), describe([]byte(b)), nil, opener([]byte(b)))
			fail.On(t, err)
		}
		fail.Diff(t, tc.log, tc.server.log)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

// An error of the source is returned as such and not repeated here.
func TestPushBlobSourceFails(t *testing.T) {
	errDisk := errors.New("the disk is on fire")
	blob := bytes.Repeat([]byte("x"), 1<<20)
	for name, source := range map[string]func() (io.ReadCloser, error){
		"opening": func() (io.ReadCloser, error) { return nil, errDisk },
		"reading": func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(blob[:1000]), brokenReader{errDisk})), nil
		},
		"too short": func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(blob[:1000])), nil },
	} {
		t.Run(name, func(t *testing.T) {
			u := &uploadServer{}
			s := u.start(t)
			c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock()})
			opened := 0
			_, err := c.PushBlob(t.Context(), repoAt(s, "a"), describe(blob), nil, func(context.Context, int64) (io.ReadCloser, error) {
				opened++
				return source()
			})
			want := errDisk
			if name == "too short" {
				want = remote.ErrMismatch
			}
			if !errors.Is(err, want) || opened != 1 {
				t.Errorf("opened %d times: %v", opened, err)
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			if len(u.sessions) > 0 {
				t.Errorf("%d uploads stay open", len(u.sessions))
			}
		})
	}
}

func TestPushManifestChecks(t *testing.T) {
	raw := []byte(`{"schemaVersion":2}`)
	other := describe([]byte("other")).Digest
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.Header().Set("Docker-Content-Digest", other.String())
			w.WriteHeader(http.StatusCreated)
		}
	})
	c := newClient(t, remote.Options{Side: remote.Destination})
	repo := repoAt(s, "a")
	if err := c.PushManifest(t.Context(), repo.WithTag("v1"), "m", raw); !errors.Is(err, remote.ErrMismatch) {
		t.Errorf("a registry that changes the manifest: %v", err)
	}
	before := c.Stats().Requests["PUT manifest"]
	if err := c.PushManifest(t.Context(), repo.WithDigest(other), "m", raw); !errors.Is(err, remote.ErrMismatch) {
		t.Errorf("bytes that are not those of the digest: %v", err)
	}
	fail.Diff(t, before, c.Stats().Requests["PUT manifest"])
	if err := c.PushManifest(t.Context(), repo, "m", raw); err == nil {
		t.Error("neither tag nor digest, and no error")
	}
}

// Who pushes a manifest learns from the error that its blobs have to go up
// again, whatever status the registry gives that.
func TestPushManifestBlobUnknown(t *testing.T) {
	raw := manifestOf([]byte("{}"), []byte("layer"))
	for _, tc := range []struct {
		code   string
		status int
		want   error
	}{
		{"MANIFEST_BLOB_UNKNOWN", 400, remote.ErrBlobUnknown},
		{"MANIFEST_BLOB_UNKNOWN", 404, remote.ErrBlobUnknown},
		{"BLOB_UNKNOWN", 404, remote.ErrBlobUnknown},
		{"MANIFEST_UNKNOWN", 404, remote.ErrBlobUnknown},
		{"NAME_UNKNOWN", 404, remote.ErrNotFound},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, `{"errors":[{"code":"`+tc.code+`","message":"blob unknown to registry"}]}`)
			}
		})
		c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock()})
		err := c.PushManifest(t.Context(), repoAt(s, "a").WithTag("v1"), "m", raw)
		if !errors.Is(err, tc.want) || errors.Is(err, remote.ErrBlobUnknown) != errors.Is(tc.want, remote.ErrBlobUnknown) {
			t.Errorf("%d %s: %v", tc.status, tc.code, err)
		}
		if n := c.Stats().Requests["PUT manifest"]; n != 1 {
			t.Errorf("%d %s: sent %d times", tc.status, tc.code, n)
		}
	}
}
