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
	path, below := strings.CutPrefix(req.URL.Path, "/v2/")
	if !below {
		path = ""
	}
	at, serve, err := r.find(path)
	switch {
	case err != nil:
		return err // whatever is asked about it
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		return refuse(http.StatusMethodNotAllowed, codeUnsupported, "this registry can only be pulled from")
	case req.URL.Path == "/v2" || below && path == "":
		writeJSON(w, "application/json", http.StatusOK, struct{}{})
		return nil
	case !below:
		return refuse(http.StatusNotFound, codeUnsupported, "there is nothing but /v2/ here")
	case path == "_catalog":
		return r.listRepositories(w, req)
	case serve == nil:
		return refuse(http.StatusNotFound, codeUnsupported, "/v2/ has NAME/manifests/REFERENCE, NAME/blobs/DIGEST, NAME/tags/list, NAME/referrers/DIGEST and _catalog")
	}
	return serve(w, req, at)
}

// A place is what a request asks for: a repository, nil where there is none of that
// name, and a digest or a tag in it.
type place struct {
	name string
	*repository
	digest digest.Digest
	tag    string
}

// find takes a path apart and says who answers: nil where it is of no known form.
func (r *Registry) find(path string) (at place, serve func(http.ResponseWriter, *http.Request, place) error, err error) {
	rest, what := cutLast(path)
	name, kind := cutLast(rest)
	if serve = r.serves(kind, what); serve == nil {
		return at, nil, nil
	}
	if !reference.IsPath(name) || len(name) > reference.MaxPath {
		return at, nil, refuse(http.StatusBadRequest, codeNameInvalid, "%.300q is no name of a repository", name)
	}
	at = place{name: name, repository: r.repositories[name]}
	if kind == "tags" || kind == "manifests" && !strings.Contains(what, ":") {
		at.tag = what
		return at, serve, nil
	}
	at.digest = digest.Digest(what)
	if err := layout.CheckDigest(at.digest); err != nil {
		return at, nil, refuse(http.StatusBadRequest, codeDigestInvalid, "%.200q is no digest: %v", what, err)
	}
	return at, serve, nil
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

// unnamed is the refusal for a repository that is not there.
func unnamed(name string) error {
	return refuse(http.StatusNotFound, codeNameUnknown, "there is no repository %s", name)
}
