package releasetest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// The paths of the services. The first two are those of the vendor.
const (
	GraphPath      = "/api/upgrades_info/v1/graph"
	GraphDataPath  = "/api/upgrades_info/graph-data"
	SignaturesPath = "/signatures"
)

// Serve makes a Platform and a server for it. If the Definition has no signature store, payloads contain
// the address of the server, and their digests differ in each run.
func Serve(t testing.TB, u Definition, o registrytest.Options) (*Platform, *registrytest.Server) {
	t.Helper()
	var made atomic.Pointer[Platform]
	s := registrytest.Serve(t, o, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { made.Load().ServeHTTP(rw, r) }))
	if u.Store == "" {
		u.Store = s.URL() + SignaturesPath
	}
	w, err := New(u)
	fail.On(t, err)
	made.Store(w)
	return w, s
}

// ServeHTTP implements the update service, the graph data and the signature store.
func (w *Platform) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	store, inStore := strings.CutPrefix(r.URL.Path, SignaturesPath+"/")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(rw, "method not allowed", http.StatusMethodNotAllowed)
	case r.URL.Path == GraphPath:
		w.serveGraph(rw, r)
	case r.URL.Path == GraphDataPath:
		rw.Header().Set("Content-Type", "application/gzip")
		_, _ = rw.Write(w.graphData)
	case inStore:
		w.serveSignature(rw, r, store)
	default:
		http.NotFound(rw, r)
	}
}

func (w *Platform) serveGraph(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	text, err := w.Graph(q.Get("channel"), cmp.Or(release.Arch(q.Get("arch")), release.DefaultArch))
	if err != nil {
		refuse(rw, http.StatusInternalServerError, "failed_json_out", err.Error())
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(text)
}

// refuse writes an error response of the update service.
func refuse(rw http.ResponseWriter, status int, kind, value string) {
	text, _ := json.Marshal(map[string]string{"kind": kind, "value": value}) // marshaling strings does not fail
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(text)
}

// Refuse returns a fault: the update service responds with an error in its own format, like a
// service that cannot reach its upstream (500, "failed_upstream_fetch").
func Refuse(status int, kind, value string) registrytest.Action {
	return func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		refuse(rw, status, kind, value)
	}
}

// serveSignature serves "sha256=<hex>/signature-1".
func (w *Platform) serveSignature(rw http.ResponseWriter, r *http.Request, name string) {
	of, file, _ := strings.Cut(name, "/")
	message := w.signatures[digest.Digest(strings.Replace(of, "=", ":", 1))]
	if message == nil || file != "signature-1" {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "application/octet-stream")
	_, _ = rw.Write(message)
}

// Signature returns the signature of a digest in the signature store, or nil.
func (w *Platform) Signature(d digest.Digest) []byte { return w.signatures[d] }
