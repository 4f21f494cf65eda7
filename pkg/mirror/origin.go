package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/singleflight"

	images "github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// An Origin reads images from where the configuration says that they are: registries, OCI layouts,
// or, for catalog images that Gantry built, the cache. Planning and copying share it, and what
// planning has read is not requested again. The cache is keyed by digest, so it is never stale; it
// may be removed at any time.
type Origin struct {
	client *remote.Client
	cache  *layout.Layout

	// reads are the reads in progress, by digest.
	reads singleflight.Group

	// manifests are those that were read.
	manifests readManifests

	// whole are the blobs of the cache that this process has written or read completely.
	whole sync.Map // digest.Digest -> struct{}

	// referrers are those of layouts, by folder: string -> func.
	referrers sync.Map

	// downloads keeps files of web servers while they are copied.
	downloads Downloads

	mu      sync.Mutex
	layouts map[string]*layout.Layout
	// repositories are those that were read, by their names in sources: parsing a reference costs
	// more than anything else here.
	repositories map[string]reference.Reference
}

// NewOrigin returns an Origin with a registry client and a cache.
func NewOrigin(client *remote.Client, cache *layout.Layout) *Origin {
	return &Origin{client: client, cache: cache, layouts: map[string]*layout.Layout{}, repositories: map[string]reference.Reference{}}
}

// The schemes of sources that are not registries.
const (
	ociScheme = "oci://"
	dirScheme = "dir://"
)

// Manifest returns the manifest d of the repository, layout or folder that
// source names, or, where d is empty, the one that source itself names. It
// implements image.Reader.
func (o *Origin) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if d != "" {
		if desc, raw, ok := o.cached(ctx, d); ok {
			return desc, raw, nil
		}
	}
	var desc ocispec.Descriptor
	var raw []byte
	read := func() error {
		var err error
		if d != "" {
			if found := o.manifests.find(d); found != nil { // since it was looked for
				var ok bool
				if desc, raw, ok = typed(d, found); ok {
					return nil
				}
			}
		}
		if desc, raw, err = o.manifest(ctx, source, d); err != nil {
			return err
		}
		if err := o.cache.Put(ctx, desc, bytes.NewReader(raw)); err != nil {
			return fmt.Errorf("keeping manifest %s: %w", desc.Digest, err)
		}
		o.manifests.add(desc.Digest, raw)
		return nil
	}
	if d == "" {
		err := read()
		return desc, raw, err
	}
	if err := o.readOnce(source, d, read); err != nil || raw != nil {
		return desc, raw, err
	}
	if desc, raw, ok := o.cached(ctx, d); ok { // another call has read it
		return desc, raw, nil
	}
	err := read()
	return desc, raw, err
}

// readOnce calls read unless the same content is already being read, from any source; then it waits
// for that. If another source fails, it tries its own.
func (o *Origin) readOnce(source string, d digest.Digest, read func() error) error {
	by, err, _ := o.reads.Do(d.String(), func() (any, error) { return source, read() })
	if err != nil && by != source {
		return read()
	}
	return err
}

func (o *Origin) manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	switch {
	case strings.HasPrefix(source, dirScheme), plan.IsChartSource(source), plan.IsFileSource(source):
		return ocispec.Descriptor{}, nil, fmt.Errorf("manifest %s of %s is not in the cache: make the plan again", d, source)
	case strings.HasPrefix(source, ociScheme):
		l, name, err := o.layout(source)
		if err != nil {
			return ocispec.Descriptor{}, nil, err
		}
		var desc ocispec.Descriptor
		if d == "" {
			if desc, err = l.Resolve(name); err != nil {
				return ocispec.Descriptor{}, nil, err
			}
		} else {
			size, ok := l.Size(d)
			if !ok {
				return ocispec.Descriptor{}, nil, fmt.Errorf("manifest %s is not in %s", d, source)
			}
			desc = ocispec.Descriptor{Digest: d, Size: size}
		}
		raw, err := l.Read(ctx, desc, manifest.MaxSize)
		desc.MediaType = manifest.TypeOf(raw)
		return desc, raw, err
	}
	if d == "" {
		ref, err := reference.Parse(source)
		if err != nil {
			return ocispec.Descriptor{}, nil, err
		}
		return o.client.Manifest(ctx, ref)
	}
	repo, err := o.repository(source)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	return o.client.Manifest(ctx, repo.WithDigest(d))
}

// maxListedTags limits the tags that Tags returns.
const maxListedTags = 10_000

// Tags returns the tags of the repository that source names, at most 10,000. A layout has none.
func (o *Origin) Tags(ctx context.Context, source string) ([]string, error) {
	if strings.HasPrefix(source, ociScheme) || strings.HasPrefix(source, dirScheme) || plan.IsChartSource(source) || plan.IsFileSource(source) {
		return nil, nil
	}
	repo, err := o.repository(source)
	if err != nil {
		return nil, err
	}
	return o.client.Tags(ctx, repo, maxListedTags)
}

// AllTags returns all tags of a repository in a registry, on as many pages as it needs.
func (o *Origin) AllTags(ctx context.Context, repository string) ([]string, error) {
	repo, err := o.repository(repository)
	if err != nil {
		return nil, err
	}
	return o.client.Tags(ctx, repo, 0)
}

// Blob opens a blob of the repository or layout that source names, at offset.
func (o *Origin) Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if o.isCached(ctx, desc) {
		if body, err := o.cache.Blob(ctx, desc, offset); err == nil {
			return &cachedBlob{ReadCloser: body, damaged: func() { o.forget(ctx, desc) }}, nil
		}
	}
	switch {
	case plan.IsFileSource(source):
		return o.file(ctx, source, desc, offset)
	case strings.HasPrefix(source, dirScheme), plan.IsChartSource(source):
		return nil, fmt.Errorf("blob %s of %s is not in the cache: make the plan again", desc.Digest, source)
	case strings.HasPrefix(source, ociScheme):
		l, _, err := o.layout(source)
		if err != nil {
			return nil, err
		}
		return l.Blob(ctx, desc, offset)
	}
	repo, err := o.repository(source)
	if err != nil {
		return nil, err
	}
	return o.client.Blob(ctx, repo, desc, offset)
}

// UnhashedBlob is Blob that leaves it to the caller to compare the content of a registry with its digest.
func (o *Origin) UnhashedBlob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if !isRegistrySource(source) || o.cache.Has(desc) {
		return o.Blob(ctx, source, desc, offset)
	}
	repo, err := o.repository(source)
	if err != nil {
		return nil, err
	}
	return o.client.UnhashedBlob(ctx, repo, desc, offset)
}

// isRegistrySource reports whether a source is a repository of a registry.
func isRegistrySource(source string) bool {
	return !plan.IsFileSource(source) && !plan.IsChartSource(source) && !strings.HasPrefix(source, dirScheme) && !strings.HasPrefix(source, ociScheme)
}

// blobThroughCache is Blob, but the blob is read into the cache first.
func (o *Origin) blobThroughCache(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if !o.isCached(ctx, desc) && !strings.HasPrefix(source, ociScheme) {
		err := o.readOnce(source, desc.Digest, func() error {
			if o.cache.Has(desc) { // since it was looked for
				return nil
			}
			body, err := o.Blob(ctx, source, desc, 0)
			if err != nil {
				return err
			}
			if err := errors.Join(o.cache.Put(ctx, desc, body), body.Close()); err != nil {
				return fmt.Errorf("keeping blob %s of %s: %w", desc.Digest, source, err)
			}
			o.whole.Store(desc.Digest, struct{}{})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return o.Blob(ctx, source, desc, offset)
}

// isCached reports whether the cache has a blob. It reads a blob that this process has not read
// before, and removes one that is damaged, so that the source is read instead: the bytes of a damaged
// blob would be noticed only after they were sent.
func (o *Origin) isCached(ctx context.Context, desc ocispec.Descriptor) bool {
	if !o.cache.Has(desc) {
		return false
	}
	if _, whole := o.whole.Load(desc.Digest); whole {
		return true
	}
	err := o.cache.Check(ctx, desc, nil)
	if err != nil {
		o.forget(ctx, desc)
		return false
	}
	o.whole.Store(desc.Digest, struct{}{})
	return true
}

// Planning is the Origin for making plans. What planning reads of an image's
// blobs is a catalog, which may be copied afterwards or read again by the next
// run, so that it goes through the cache.
func (o *Origin) Planning() images.Reader { return planning{o} }

type planning struct{ *Origin }

func (p planning) Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return p.blobThroughCache(ctx, source, desc, offset)
}

// layout opens the folder of an oci:// source once, and returns the name of the image in it.
func (o *Origin) layout(source string) (*layout.Layout, string, error) {
	dir, name := plan.SplitLayout(source)
	dir = filepath.Clean(dir)
	o.mu.Lock()
	defer o.mu.Unlock()
	if l := o.layouts[dir]; l != nil {
		return l, name, nil
	}
	l, err := layout.Open(dir)
	if err != nil {
		return nil, "", err // it names the folder
	}
	o.layouts[dir] = l
	return l, name, nil
}

// repository returns the repository of a source in a registry.
func (o *Origin) repository(source string) (reference.Reference, error) {
	name, _, _ := strings.Cut(source, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	repo, ok := o.repositories[name]
	if ok {
		return repo, nil
	}
	ref, err := reference.Parse(source)
	if err != nil {
		return reference.Reference{}, err
	}
	repo = ref.Repository()
	o.repositories[name] = repo
	return repo, nil
}

// cached returns a manifest from memory, or reads it from the cache. A damaged one is removed.
func (o *Origin) cached(ctx context.Context, d digest.Digest) (ocispec.Descriptor, []byte, bool) {
	if raw := o.manifests.find(d); raw != nil {
		return typed(d, raw)
	}
	size, ok := o.cache.Size(d)
	if !ok || size > manifest.MaxSize {
		return ocispec.Descriptor{}, nil, false
	}
	desc := ocispec.Descriptor{Digest: d, Size: size}
	raw, err := o.cache.Read(ctx, desc, manifest.MaxSize)
	if err != nil {
		o.forget(ctx, desc)
		return ocispec.Descriptor{}, nil, false
	}
	o.manifests.add(d, raw)
	return typed(d, raw)
}

// typed returns a manifest with its descriptor, and false if its media type is unknown: caches do not keep what the
// registry reported.
func typed(d digest.Digest, raw []byte) (ocispec.Descriptor, []byte, bool) {
	desc := ocispec.Descriptor{MediaType: manifest.TypeOf(raw), Digest: d, Size: int64(len(raw))}
	return desc, raw, desc.MediaType != ""
}

// forget removes damaged content, unless reading was merely canceled.
func (o *Origin) forget(ctx context.Context, desc ocispec.Descriptor) {
	if ctx.Err() == nil {
		o.whole.Delete(desc.Digest)
		_ = o.cache.Remove(desc) // if it stays, it is found damaged again
	}
}

// A cachedBlob is a blob from the cache. A damaged one is removed, so that the next attempt reads
// the source.
type cachedBlob struct {
	io.ReadCloser
	damaged func()
}

// Verifies reports whether the bytes are compared with desc.
func (b *cachedBlob) Verifies(desc ocispec.Descriptor) bool {
	return layout.Verifies(b.ReadCloser, desc)
}

// Hashed returns the hash of the n bytes that were read.
func (b *cachedBlob) Hashed() (h hash.Hash, n int64) { return layout.Hashed(b.ReadCloser) }

func (b *cachedBlob) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.damaged()
	}
	return n, err
}
