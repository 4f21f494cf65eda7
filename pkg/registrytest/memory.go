package registrytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Memory returns an empty registry in memory. It is built on the one of go-containerregistry, but
// is as strict as a real one: a blob belongs to the repositories it was pushed to or mounted into,
// and a manifest is refused if one of its blobs is not in its repository. A deleted manifest takes its
// tags with it.
func Memory() http.Handler { return newMemory(false) }

// Careless returns a registry like Memory's, but it does not compare blobs with their digests:
// it stores what it is sent in one request under any digest.
func Careless() http.Handler { return newMemory(true) }

func newMemory(careless bool) *memory {
	m := &memory{
		careless: careless, blobs: map[string]map[v1.Hash][]byte{}, tagged: map[string]string{},
		repositories: map[string]bool{}, subjects: map[string]bool{},
	}
	m.next = registry.New(registry.Logger(discardLogger()), registry.WithReferrersSupport(true), registry.WithBlobHandler(m))
	return m
}

type memory struct {
	next     http.Handler
	careless bool

	mu           sync.Mutex
	blobs        map[string]map[v1.Hash][]byte // by repository
	tagged       map[string]string             // the path of a manifest by the path of its tag
	repositories map[string]bool               // those that have had manifests
	subjects     map[string]bool               // paths of the lists of referrers that have had entries
}

func (m *memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	repository, isUpload := strings.CutSuffix(path, "/blobs/uploads/")
	if q := r.URL.Query(); r.Method == http.MethodPost && isUpload && q.Has("mount") {
		if h, err := v1.NewHash(q.Get("mount")); err == nil && m.mount(q.Get("from"), repository, h) {
			created(w, repository, h)
			return
		}
	}
	if i := strings.Index(path, "/manifests/"); i > 0 && r.Method == http.MethodPut {
		raw, err := io.ReadAll(io.LimitReader(r.Body, manifestLimit))
		if err != nil {
			return // the client disconnected
		}
		if missing := m.missing(path[:i], raw); missing != "" {
			refuse(w, http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN", missing)
			return
		}
		if subject := parsedSubject(raw); subject != "" {
			w.Header().Set("OCI-Subject", subject) // the registry has the referrers API
		}
		m.record(path[:i], parsedSubject(raw), path, path[:i]+"/manifests/"+digest.FromBytes(raw).String())
		r.Body = io.NopCloser(bytes.NewReader(raw))
	}
	if r.Method == http.MethodGet && m.hasNoReferrers(path) {
		// The registry below would read all manifests of the repository.
		w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
		_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":%q,"manifests":[]}`, ocispec.MediaTypeImageIndex)
		return
	}
	if r.Method == http.MethodDelete && strings.Contains(path, "/manifests/") {
		defer m.untag(r.Context(), path)
	}
	if h, err := v1.NewHash(r.URL.Query().Get("digest")); m.careless && r.Method == http.MethodPut && err == nil {
		m.accept(w, r, h)
		return
	}
	m.next.ServeHTTP(w, r)
}

// record records that a repository has a manifest with a subject, or "", which has a tag from now on.
func (m *memory) record(repository, subject, tag, manifest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.repositories[repository] = true
	m.subjects[repository+"/referrers/"+subject] = true
	m.tagged[tag] = manifest
}

// hasNoReferrers reports whether a path is an empty list of referrers.
func (m *memory) hasNoReferrers(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	repository, subject, isList := strings.Cut(path, "/referrers/")
	return isList && digest.Digest(subject).Validate() == nil && m.repositories[repository] && !m.subjects[path]
}

// untag deletes the tags of a manifest that was deleted.
func (m *memory) untag(ctx context.Context, manifest string) {
	var tags []string
	m.mu.Lock()
	for tag, of := range m.tagged {
		if of != manifest {
			continue
		}
		if delete(m.tagged, tag); tag != manifest {
			tags = append(tags, tag)
		}
	}
	m.mu.Unlock()
	for _, tag := range tags {
		m.next.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodDelete, "/v2/"+tag, nil))
	}
}

// accept stores the body of a request that completes an upload.
func (m *memory) accept(w http.ResponseWriter, r *http.Request, h v1.Hash) {
	repository := repositoryOf(r.URL.Path)
	if m.Put(r.Context(), repository, h, r.Body) != nil {
		return // the client disconnected
	}
	created(w, repository, h)
}

// created responds that a repository has a blob now.
func created(w http.ResponseWriter, repository string, h v1.Hash) {
	w.Header().Set("Location", "/v2/"+repository+"/blobs/"+h.String())
	w.Header().Set("Docker-Content-Digest", h.String())
	w.WriteHeader(http.StatusCreated)
}

// parsedSubject returns the digest of a manifest's subject, or "".
func parsedSubject(raw []byte) string {
	var m struct{ Subject ocispec.Descriptor }
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return m.Subject.Digest.String()
}

// mount adds a blob of one repository to another.
func (m *memory) mount(from, to string, h v1.Hash) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[from][h]
	if ok {
		m.put(to, h, data)
	}
	return ok
}

// put requires the lock.
func (m *memory) put(repository string, h v1.Hash, data []byte) {
	if m.blobs[repository] == nil {
		m.blobs[repository] = map[v1.Hash][]byte{}
	}
	m.blobs[repository][h] = data
}

// missing returns the first blob of a manifest that is not in its repository. The registry handles
// anything that is not a manifest.
func (m *memory) missing(repository string, raw []byte) string {
	var parts manifest
	if err := json.Unmarshal(raw, &parts); err != nil || parts.Config.Digest == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, desc := range append([]ocispec.Descriptor{parts.Config}, parts.Layers...) {
		h, err := v1.NewHash(desc.Digest.String())
		if err != nil {
			return desc.Digest.String()
		}
		if _, ok := m.blobs[repository][h]; !ok {
			return desc.Digest.String()
		}
	}
	return ""
}

// Get, Stat, Put and Delete store the blobs for the registry. At the end of an upload, its name for
// a repository ends in "/blobs".

func (m *memory) Get(_ context.Context, repository string, h v1.Hash) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[repository][h]
	if !ok {
		return nil, registry.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (m *memory) Stat(_ context.Context, repository string, h v1.Hash) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[repository][h]
	if !ok {
		return 0, registry.ErrNotFound
	}
	return int64(len(data)), nil
}

func (m *memory) Put(_ context.Context, repository string, h v1.Hash, rc io.ReadCloser) error {
	data, err := io.ReadAll(rc)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(strings.TrimSuffix(repository, "/blobs"), h, data)
	return rc.Close()
}

func (m *memory) Delete(_ context.Context, repository string, h v1.Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.blobs[repository][h]; !ok {
		return registry.ErrNotFound
	}
	delete(m.blobs[repository], h)
	return nil
}
