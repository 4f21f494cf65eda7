package registryserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Error codes of the distribution specification ("Error Codes"); the last two are
// those of the CNCF distribution registry, where the specification has none.
const (
	codeBlobUnknown     = "BLOB_UNKNOWN"
	codeDigestInvalid   = "DIGEST_INVALID"
	codeManifestUnknown = "MANIFEST_UNKNOWN"
	codeNameInvalid     = "NAME_INVALID"
	codeNameUnknown     = "NAME_UNKNOWN"
	codeUnauthorized    = "UNAUTHORIZED"
	codeUnsupported     = "UNSUPPORTED"
	codePageInvalid     = "PAGINATION_NUMBER_INVALID"
	codeRangeInvalid    = "RANGE_INVALID"
	codeUnknown         = "UNKNOWN"
)

// A refusal is an answer that says no.
type refusal struct {
	status  int
	code    string
	message string
}

func (e *refusal) Error() string { return e.message }

func refuse(status int, code, format string, args ...any) error {
	return &refusal{status, code, fmt.Sprintf(format, args...)}
}

// write sends the refusal in the form of the specification ("Error Codes").
func (e *refusal) write(w http.ResponseWriter) {
	type one struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	writeJSON(w, "application/json", e.status, struct {
		Errors []one `json:"errors"`
	}{[]one{{e.code, e.message}}})
}

// writeJSON sends a value that can always be encoded.
func writeJSON(w http.ResponseWriter, contentType string, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"errors":[{"code":"`+codeUnknown+`"}]}`)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs no answer
}

// ServeHTTP answers a request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Docker-Distribution-Api-Version", "registry/2.0")
	h.Set("X-Content-Type-Options", "nosniff")
	err := r.route(w, req)
	if err == nil {
		return
	}
	var refused *refusal
	switch {
	case errors.As(err, &refused):
	case req.Context().Err() != nil:
		breakOff() // there is nobody to answer to, or no time left
	default:
		r.log.Error("content cannot be read", "path", req.URL.Path, "error", err)
		refused = &refusal{http.StatusInternalServerError, codeUnknown, "this content cannot be read; the log of the registry says why"}
	}
	refused.write(w)
}

// route finds out what is asked for. The last two parts of a path say what; all
// before them is the name, in which any word may occur.
func (r *Registry) route(w http.ResponseWriter, req *http.Request) error {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return refuse(http.StatusMethodNotAllowed, codeUnsupported, "this registry can only be pulled from")
	}
	path, ok := strings.CutPrefix(req.URL.Path, "/v2/")
	switch {
	case req.URL.Path == "/v2" || ok && path == "":
		writeJSON(w, "application/json", http.StatusOK, struct{}{})
		return nil
	case !ok:
		return refuse(http.StatusNotFound, codeUnsupported, "there is nothing but /v2/ here")
	case path == "_catalog":
		return r.listRepositories(w, req)
	}
	rest, what := cutLast(path)
	name, kind := cutLast(rest)
	serve := r.serves(kind, what)
	if serve == nil {
		return refuse(http.StatusNotFound, codeUnsupported, "/v2/ has NAME/manifests/REFERENCE, NAME/blobs/DIGEST, NAME/tags/list, NAME/referrers/DIGEST and _catalog")
	}
	if !reference.IsPath(name) || len(name) > reference.MaxPath {
		return refuse(http.StatusBadRequest, codeNameInvalid, "%.300q is no name of a repository", name)
	}
	repo := r.repositories[name]
	if repo == nil && kind != "referrers" {
		return refuse(http.StatusNotFound, codeNameUnknown, "there is no repository %s", name)
	}
	return serve(w, req, place{name, repo, what})
}

// A place is what a request asks for: a repository, by its name, and a reference or
// digest in it.
type place struct {
	name string
	*repository
	what string
}

// serves says who answers.
func (r *Registry) serves(kind, what string) func(http.ResponseWriter, *http.Request, place) error {
	switch {
	case kind == "manifests" && what != "":
		return r.manifest
	case kind == "blobs" && what != "":
		return r.blob
	case kind == "referrers" && what != "":
		return r.listReferrers
	case kind == "tags" && what == "list":
		return r.listTags
	}
	return nil
}

// cutLast cuts the last part of a path off; before is "" where there is no other.
func cutLast(path string) (before, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// parseDigest reads a digest that somebody asks for.
func parseDigest(text string) (digest.Digest, error) {
	d := digest.Digest(text)
	if err := layout.CheckDigest(d); err != nil {
		return "", refuse(http.StatusBadRequest, codeDigestInvalid, "%.200q is no digest: %v", text, err)
	}
	return d, nil
}
