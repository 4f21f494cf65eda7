package registryserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Error codes of the distribution specification ("Error Codes"); the last two come from
// the CNCF distribution registry, since the specification has no codes for them.
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

// A registryError is an error response.
type registryError struct {
	status  int
	code    string
	message string
}

func (e *registryError) Error() string { return e.message }

func newError(status int, code, format string, args ...any) error {
	return &registryError{status, code, fmt.Sprintf(format, args...)}
}

// write sends the error as the specification describes ("Error Codes").
func (e *registryError) write(w http.ResponseWriter) {
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
	_, _ = w.Write(append(text, '\n')) // the client may have disconnected
}

// ServeHTTP responds to a request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Docker-Distribution-Api-Version", "registry/2.0")
	h.Set("X-Content-Type-Options", "nosniff")
	err := r.route(w, req)
	if err == nil {
		return
	}
	var failure *registryError
	switch {
	case errors.As(err, &failure):
	case req.Context().Err() != nil:
		abort() // the client is gone, or the time is up
	default:
		r.log.Error("content cannot be read", "path", req.URL.Path, "error", err)
		failure = &registryError{http.StatusInternalServerError, codeUnknown, "this content cannot be read; see the log of the registry"}
	}
	failure.write(w)
}

// route finds the resource that a request names. The last two elements of a path are its kind and
// reference; all before them is the repository, which may contain any word.
func (r *Registry) route(w http.ResponseWriter, req *http.Request) error {
	path, below := strings.CutPrefix(req.URL.Path, "/v2/")
	if !below {
		path = ""
	}
	res, serve, err := r.parse(path)
	switch {
	case err != nil:
		return err // the name or digest is invalid, for any method
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		return newError(http.StatusMethodNotAllowed, codeUnsupported, "this registry is read-only")
	case req.URL.Path == "/v2" || below && path == "":
		writeJSON(w, "application/json", http.StatusOK, struct{}{})
		return nil
	case !below:
		return newError(http.StatusNotFound, codeUnsupported, "this server has only /v2/")
	case path == "_catalog":
		return r.listRepositories(w, req)
	case serve == nil:
		return newError(http.StatusNotFound, codeUnsupported, "want NAME/manifests/REFERENCE, NAME/blobs/DIGEST, NAME/tags/list, NAME/referrers/DIGEST or _catalog")
	}
	return serve(w, req, res)
}

// A resource is what a request names: a repository, nil if it does not exist, and a digest or a tag
// in it.
type resource struct {
	name string
	*repository
	digest digest.Digest
	tag    string
}

// parse returns the resource that a path names and the function that serves it, which is nil for
// paths of no known form.
func (r *Registry) parse(path string) (res resource, serve func(http.ResponseWriter, *http.Request, resource) error, err error) {
	rest, what := splitLast(path)
	name, kind := splitLast(rest)
	if serve = r.endpoint(kind, what); serve == nil {
		return res, nil, nil
	}
	if !reference.IsPath(name) || len(name) > reference.MaxPath {
		return res, nil, newError(http.StatusBadRequest, codeNameInvalid, "%.300q is not a valid repository name", name)
	}
	res = resource{name: name, repository: r.repositories[name]}
	if kind == "tags" || kind == "manifests" && !strings.Contains(what, ":") {
		res.tag = what
		return res, serve, nil
	}
	res.digest = digest.Digest(what)
	if err := layout.CheckDigest(res.digest); err != nil {
		return res, nil, newError(http.StatusBadRequest, codeDigestInvalid, "%.200q is not a valid digest: %v", what, err)
	}
	return res, serve, nil
}

// endpoint returns the function that serves a kind of resource, or nil.
func (r *Registry) endpoint(kind, what string) func(http.ResponseWriter, *http.Request, resource) error {
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

// splitLast splits the last element from a path; before is "" if there is only one.
func splitLast(path string) (before, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// unknownRepository returns the error for a repository that does not exist.
func unknownRepository(name string) error {
	return newError(http.StatusNotFound, codeNameUnknown, "repository %s does not exist", name)
}
