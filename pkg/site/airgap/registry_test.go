package airgap

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A registry is a mirror in memory. Its content is stored by "repository digest", and manifests
// also by "repository tag".
type registry struct {
	mu        sync.Mutex
	manifests map[string][]byte
	blobs     map[string][]byte
	asked     int // how often content was looked up
}

func newRegistry() *registry {
	return &registry{manifests: map[string][]byte{}, blobs: map[string][]byte{}}
}

// site returns the registry as the destination of archives.
func (r *registry) site() *Site {
	return &Site{Name: "mirror", Registry: func(*plan.Plan) (mirror.Registry, error) { return r, nil }}
}

func in(repository string, what any) string { return fmt.Sprintf("%s %v", repository, what) }

// holds reports whether a repository has content.
func (r *registry) holds(d digest.Digest) bool {
	for _, of := range []map[string][]byte{r.blobs, r.manifests} {
		for key := range of {
			if strings.HasSuffix(key, " "+d.String()) {
				return true
			}
		}
	}
	return false
}

func (r *registry) has(of map[string][]byte, key string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	_, ok := of[key]
	return ok, nil
}

func (r *registry) HasManifest(_ context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error) {
	if tag != "" {
		return r.has(r.manifests, in(repository, tag))
	}
	return r.has(r.manifests, in(repository, desc.Digest))
}

func (r *registry) HasBlob(_ context.Context, repository string, desc ocispec.Descriptor) (bool, error) {
	return r.has(r.blobs, in(repository, desc.Digest))
}

func (r *registry) Tags(_ context.Context, repository string, _ int) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var tags []string
	for _, key := range slices.Sorted(maps.Keys(r.manifests)) {
		if tag, ok := strings.CutPrefix(key, repository+" "); ok && !strings.Contains(tag, ":") {
			tags = append(tags, tag)
		}
	}
	return tags, nil
}

func (r *registry) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open mirror.Open) error {
	body, err := open(ctx, 0)
	if err != nil {
		return err
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[in(repository, desc.Digest)] = raw
	return nil
}

func (r *registry) PutManifest(_ context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manifests[in(repository, desc.Digest)] = raw
	for _, tag := range tags {
		r.manifests[in(repository, tag)] = raw
	}
	return nil
}

func (r *registry) MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, from string, open mirror.Open) (bool, error) {
	r.mu.Lock()
	raw, ok := r.blobs[in(from, desc.Digest)]
	if ok {
		r.blobs[in(repository, desc.Digest)] = raw
	}
	r.mu.Unlock()
	if !ok {
		return false, r.PutBlob(ctx, repository, desc, open)
	}
	return true, nil
}

// Blob reads content back from the registry.
func (r *registry) Blob(_ context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, ok := r.blobs[in(repository, desc.Digest)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(raw[offset:])), nil
}

// lose removes all content from the registry, or the content of one repository.
func (r *registry) lose(repository string) {
	lost := func(key string, _ []byte) bool { return strings.HasPrefix(key, repository) }
	maps.DeleteFunc(r.manifests, lost)
	maps.DeleteFunc(r.blobs, lost)
}
