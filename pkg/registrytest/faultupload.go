package registrytest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/opencontainers/go-digest"
)

// CutUpload hands n bytes of the request's body on to the registry and then
// breaks the connections on both sides of it.
func CutUpload(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Body = &cutBody{ReadCloser: r.Body, left: n}
		next.ServeHTTP(httptest.NewRecorder(), r)
		resetConnection(w)
	}
}

var errCut = errors.New("the connection was cut")

type cutBody struct {
	io.ReadCloser
	left int
}

// Read hands on what is left until the cut.
func (b *cutBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errCut
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// LoseAnswer lets the registry do what it is asked to and breaks the connection
// instead of saying so.
func LoseAnswer() Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		resetConnection(w)
	}
}

// NoAnswer takes the request and says nothing until the client gives up or the
// test ends. The registry sees nothing.
func NoAnswer() Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		resetConnection(w)
	}
}

// StallUpload takes n bytes of the request's body and then nothing more, so that
// the client cannot go on sending, until the test ends. The registry sees
// nothing.
func StallUpload(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, int64(n))
		<-r.Context().Done()
		resetConnection(w)
	}
}

// Pretend says 201 Created to a mount, a manifest or the end of an upload, and
// keeps nothing of it. The upload is over.
func Pretend() Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		repository := repositoryOf(r.URL.Path)
		place := "/manifests/"
		q := r.URL.Query()
		content := digest.Digest(q.Get("mount") + q.Get("digest"))
		if content != "" {
			place = "/blobs/"
			_, _ = io.Copy(io.Discard, r.Body)
		} else {
			body, _ := io.ReadAll(io.LimitReader(r.Body, manifestLimit))
			content = digest.FromBytes(body)
		}
		if q.Has("digest") {
			end := r.Clone(r.Context())
			end.Method, end.Body, end.ContentLength = http.MethodDelete, http.NoBody, 0
			next.ServeHTTP(httptest.NewRecorder(), end)
		}
		w.Header().Set("Location", "/v2/"+repository+place+content.String())
		w.Header().Set("Docker-Content-Digest", content.String())
		w.WriteHeader(http.StatusCreated)
	}
}

// repositoryOf is the repository that a path below /v2/ is about.
func repositoryOf(path string) string {
	path = strings.TrimPrefix(path, "/v2/")
	for _, mark := range []string{"/blobs/", "/manifests/", "/tags/", "/referrers/"} {
		if i := strings.LastIndex(path, mark); i >= 0 {
			return path[:i]
		}
	}
	return ""
}
