package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A maker makes plans and their content.
type maker struct {
	t       testing.TB
	content map[digest.Digest][]byte
	p       plan.Plan
}

func newMaker(t testing.TB) *maker {
	return &maker{t: t, content: map[digest.Digest][]byte{}, p: plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "test"}}
}

func (m *maker) blob(text string) digest.Digest {
	d := digest.FromString(text)
	if _, ok := m.content[d]; !ok {
		m.content[d] = []byte(text)
		m.p.Blobs = append(m.p.Blobs, plan.Blob{Digest: d, Size: int64(len(text))})
	}
	return d
}

func (m *maker) manifest(mediaType string, children, blobs []digest.Digest) digest.Digest {
	raw, err := json.Marshal(map[string]any{"mediaType": mediaType, "manifests": children, "layers": blobs})
	fail.On(m.t, err)
	d := digest.FromBytes(raw)
	if _, ok := m.content[d]; !ok {
		m.content[d] = raw
		m.p.Manifests = append(m.p.Manifests, plan.Manifest{Digest: d, MediaType: mediaType, Size: int64(len(raw)), Manifests: children, Blobs: blobs})
	}
	return d
}

// image makes a manifest with blobs of these texts.
func (m *maker) image(texts ...string) digest.Digest {
	blobs := elements.Map(texts, m.blob)
	return m.manifest(ocispec.MediaTypeImageManifest, nil, blobs)
}

func (m *maker) index(children ...digest.Digest) digest.Digest {
	return m.manifest(ocispec.MediaTypeImageIndex, children, nil)
}

func (m *maker) add(repository, tag string, d digest.Digest, because ...plan.Reason) {
	m.p.Images = append(m.p.Images, plan.Image{
		Source: "src.example.com/" + repository + ":" + tag, Kind: plan.RelatedImage, Digest: d,
		Repository: repository, Tags: []string{tag}, Reasons: because,
	})
}

func (m *maker) addCatalog(source, repository string, d digest.Digest) {
	m.p.Images = append(m.p.Images, plan.Image{
		Source: source, Kind: plan.CatalogImage, Catalog: source, Digest: d, Repository: repository, Tags: []string{"v1"},
		Reasons: []plan.Reason{{Catalog: source, List: "operators"}},
	})
}

func (m *maker) plan() *plan.Plan {
	slices.SortFunc(m.p.Images, func(a, b plan.Image) int { return bytes.Compare([]byte(a.Repository), []byte(b.Repository)) })
	return &m.p
}

// A memorySource returns the maker's content and counts the reads.
type memorySource struct {
	content map[digest.Digest][]byte
	broken  map[digest.Digest]error

	mu    sync.Mutex
	given map[digest.Digest]int
}

func (m *maker) source() *memorySource {
	return &memorySource{content: m.content, broken: map[digest.Digest]error{}, given: map[digest.Digest]int{}}
}

func (s *memorySource) get(d digest.Digest) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.broken[d]; err != nil {
		return nil, err
	}
	s.given[d]++
	return s.content[d], nil
}

func (s *memorySource) Manifest(_ context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	raw, err := s.get(d)
	return ocispec.Descriptor{Digest: d, Size: int64(len(raw))}, raw, err
}

func (s *memorySource) Blob(_ context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	raw, err := s.get(desc.Digest)
	return io.NopCloser(bytes.NewReader(raw[offset:])), err
}

// A memoryRegistry is a registry that refuses manifests whose blobs or children are missing.
type memoryRegistry struct {
	mu        sync.Mutex
	blobs     map[string]bool // repository@digest
	manifests map[string][]byte
	tags      map[string]digest.Digest // repository:tag
	calls     map[string]int
	fail      func(call, repository string, d digest.Digest) error
	lose      func(repository string, d digest.Digest) bool // manifests that it reports as accepted but loses
}

func newMemoryRegistry() *memoryRegistry {
	return &memoryRegistry{
		blobs: map[string]bool{}, manifests: map[string][]byte{}, tags: map[string]digest.Digest{}, calls: map[string]int{},
		fail: func(string, string, digest.Digest) error { return nil },
		lose: func(string, digest.Digest) bool { return false },
	}
}

func (r *memoryRegistry) call(ctx context.Context, name, repository string, d digest.Digest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[name]++
	return r.fail(name, repository, d)
}

func key(repository string, d digest.Digest) string { return repository + "@" + d.String() }

func (r *memoryRegistry) HasManifest(ctx context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error) {
	if err := r.call(ctx, "has manifest", repository, desc.Digest); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if tag != "" {
		return r.tags[repository+":"+tag] == desc.Digest, nil
	}
	return r.manifests[key(repository, desc.Digest)] != nil, nil
}

func (r *memoryRegistry) HasBlob(ctx context.Context, repository string, desc ocispec.Descriptor) (bool, error) {
	if err := r.call(ctx, "has blob", repository, desc.Digest); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blobs[key(repository, desc.Digest)], nil
}

func (r *memoryRegistry) Tags(ctx context.Context, repository string, limit int) ([]string, error) {
	if err := r.call(ctx, "tags", repository, ""); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var tags []string
	for _, name := range slices.Sorted(maps.Keys(r.tags)) {
		if tag, ok := strings.CutPrefix(name, repository+":"); ok && len(tags) < limit {
			tags = append(tags, tag)
		}
	}
	return tags, nil
}

func (r *memoryRegistry) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open Open) error {
	if err := r.call(ctx, "put blob", repository, desc.Digest); err != nil {
		return err
	}
	body, err := open(ctx, 0)
	if err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if digest.FromBytes(text) != desc.Digest {
		return errors.New("DIGEST_INVALID")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[key(repository, desc.Digest)] = true
	return nil
}

func (r *memoryRegistry) MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, from string, open Open) (bool, error) {
	if err := r.call(ctx, "mount blob", repository, desc.Digest); err != nil {
		return false, err
	}
	r.mu.Lock()
	has := r.blobs[key(from, desc.Digest)]
	if has {
		r.blobs[key(repository, desc.Digest)] = true
	}
	r.mu.Unlock()
	if has {
		return true, nil
	}
	return false, r.PutBlob(ctx, repository, desc, open)
}

func (r *memoryRegistry) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	if err := r.call(ctx, "put manifest", repository, desc.Digest); err != nil {
		return err
	}
	var m struct{ Manifests, Layers []digest.Digest }
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range m.Manifests {
		if r.manifests[key(repository, c)] == nil {
			return fmt.Errorf("MANIFEST_UNKNOWN: child %s of %s", c, desc.Digest)
		}
	}
	for _, b := range m.Layers {
		if !r.blobs[key(repository, b)] {
			return fmt.Errorf("MANIFEST_BLOB_UNKNOWN: %s of %s", b, desc.Digest)
		}
	}
	if r.lose(repository, desc.Digest) {
		return nil
	}
	r.manifests[key(repository, desc.Digest)] = raw
	for _, t := range tags {
		r.tags[repository+":"+t] = desc.Digest
	}
	return nil
}

// addPlanCatalog adds a catalog with its image in the repository.
func (m *maker) addPlanCatalog(source, repository string) {
	for _, img := range m.p.Images {
		if img.Kind == plan.CatalogImage && img.Repository == repository {
			m.p.Catalogs = append(m.p.Catalogs, plan.Catalog{Source: source, Digest: img.Digest, Repository: repository, Tag: img.Tags[0]})
		}
	}
}

func missing(source string) plan.Missing {
	return plan.Missing{Source: source, Kind: plan.RelatedImage, Message: "not found"}
}

// A knowing store has some content in another place and copies it from there.
type knowing struct {
	memoryStore
	has map[digest.Digest][]byte
}

func (s *knowing) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open Open) error {
	if raw, ok := s.has[desc.Digest]; ok {
		return s.PutManifest(ctx, "", desc, raw, nil)
	}
	return s.memoryStore.PutBlob(ctx, repository, desc, open)
}
