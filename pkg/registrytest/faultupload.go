package registrytest

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/opencontainers/go-digest"
)

// CutUpload forwards n bytes of the request's body to the registry and then breaks the connections
// on both sides.
func CutUpload(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Body = &interruptedBody{ReadCloser: r.Body, left: n, do: func() error { return errCut }}
		next.ServeHTTP(httptest.NewRecorder(), r)
		resetConnection(w)
	}
}

var errCut = errors.New("the connection was cut")

// An interruptedBody calls do after a number of bytes, and continues if that returns no error.
type interruptedBody struct {
	io.ReadCloser
	left int // bytes until do; -1 after it
	do   func() error
}

// Read returns bytes before or after the interruption.
func (b *interruptedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		if err := b.do(); err != nil {
			return 0, err
		}
		b.left = -1
	}
	if b.left > 0 {
		p = p[:min(len(p), b.left)]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= n
	}
	return n, err
}

// LoseResponse lets the registry handle the request and breaks the connection instead of
// responding.
func LoseResponse() Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		resetConnection(w)
	}
}

// NoResponse reads the request and does not respond until the client gives up or the test ends. The
// registry does not see the request.
func NoResponse() Action { return StallUpload(math.MaxInt) }

// StallUpload reads n bytes of the request's body and then no more, so that the client cannot send
// the rest, until the test ends. The registry does not see the request.
func StallUpload(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, int64(n))
		<-r.Context().Done()
		resetConnection(w)
	}
}

// Pretend responds with 201 Created to a mount, a manifest or the end of an upload, and stores
// nothing. The upload ends.
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

// repositoryOf returns the repository in a path below /v2/.
func repositoryOf(path string) string {
	path = strings.TrimPrefix(path, "/v2/")
	for _, mark := range []string{"/blobs/", "/manifests/", "/tags/", "/referrers/"} {
		if i := strings.LastIndex(path, mark); i >= 0 {
			return path[:i]
		}
	}
	return ""
}
