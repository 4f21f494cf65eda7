package registrytest

import (
	"net/http"
	"os"
	"path"
	"path/filepath"

	"github.com/opencontainers/go-digest"
)

// CDN serves the blobs of a registry of Start from another host, like object storage behind a
// registry that redirects to it. It accepts only addresses that Redirect made, and refuses requests
// that have credentials in addition to the signature in the address (400, as S3 does). It ends with
// the test.
func (s *Server) CDN() *Server {
	s.t.Helper()
	s.needsFiles()
	if s.process == nil {
		s.t.Fatal("registrytest: a registry in memory has no storage behind it: use Start")
	}
	cdn, ca := prepare(s.t, Options{})
	storage := s.process.storage()
	cdn.begin(ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := digest.Parse(path.Base(r.URL.Path))
		switch {
		case r.Header.Get("Authorization") != "":
			http.Error(w, "Only one auth mechanism allowed", http.StatusBadRequest)
			return
		case err != nil || r.URL.Query().Get("signature") == "":
			http.Error(w, "AccessDenied", http.StatusForbidden)
			return
		}
		f, err := os.Open(filepath.Join(storage, "blobs", d.Algorithm().String(), d.Encoded()[:2], d.Encoded(), "data"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer func() { _ = f.Close() }() // only read from
		info, err := f.Stat()
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", info.ModTime(), f)
	}))
	return cdn
}
