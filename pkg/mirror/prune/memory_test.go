package prune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// errBudget ends a run after a number of requests.
var errBudget = errors.New("interrupted")

// A stored is a manifest in a repository of memory.
type stored struct {
	mediaType string
	raw       []byte
	children  []digest.Digest
	subject   digest.Digest
}

// A memory is a registry with what Make and Execute ask for.
type memory struct {
	mu       sync.Mutex
	api      bool // it has the referrers API
	budget   int  // requests until errBudget; negative is no limit
	requests map[string]int
	repos    map[string]map[digest.Digest]*stored
	tags     map[string]map[string]digest.Digest
	refuse   func(repository string, d digest.Digest) error
	// stops means that the request that ends the budget deletes a manifest, and not its tags, as in a registry
	// that stops in between.
	stops bool
}

func newMemory(api bool) *memory {
	return &memory{api: api, budget: -1, requests: map[string]int{}, repos: map[string]map[digest.Digest]*stored{}, tags: map[string]map[string]digest.Digest{}}
}

func (m *memory) request(kind string) error {
	if m.requests[kind]++; m.budget == 0 {
		return errBudget
	}
	m.budget--
	return nil
}

// push stores a manifest, and lists it as a referrer if the registry has no API for that.
func (m *memory) push(repository string, s *stored, tags ...string) digest.Digest {
	d := digest.FromBytes(s.raw)
	if m.repos[repository] == nil {
		m.repos[repository], m.tags[repository] = map[digest.Digest]*stored{}, map[string]digest.Digest{}
	}
	m.repos[repository][d] = s
	for _, tag := range tags {
		m.tags[repository][tag] = d
	}
	if s.subject != "" && !m.api && len(tags) == 0 {
		tag := strings.Replace(string(s.subject), ":", "-", 1)
		list := []digest.Digest{}
		before := m.tags[repository][tag]
		if before != "" && before != s.subject {
			list = m.repos[repository][before].children
		}
		if !slices.Contains(list, d) {
			if before != s.subject { // an earlier version gave the tag to the image
				delete(m.repos[repository], before) // the earlier list, which nothing names now
			}
			m.push(repository, newIndex("list", append(slices.Clip(list), d)...), tag)
		}
	}
	return d
}

// newImage returns an image with layers of 10 bytes.
func newImage(subject digest.Digest, layers ...string) *stored {
	man := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: ocispec.Descriptor{Digest: digest.FromString("config"), Size: 10}}
	for _, l := range layers {
		man.Layers = append(man.Layers, ocispec.Descriptor{Digest: digest.FromString(l), Size: 10})
	}
	if subject != "" {
		man.Subject = &ocispec.Descriptor{Digest: subject}
	}
	raw, _ := json.Marshal(man)
	return &stored{mediaType: man.MediaType, raw: raw, subject: subject}
}

func newIndex(name string, children ...digest.Digest) *stored {
	man := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Annotations: map[string]string{"name": name}}
	for _, d := range children {
		man.Manifests = append(man.Manifests, ocispec.Descriptor{Digest: d})
	}
	raw, _ := json.Marshal(man)
	return &stored{mediaType: man.MediaType, raw: raw, children: children}
}

// isList reports whether s is a list of referrers.
func (s *stored) isList() bool { return string(s.raw) == string(newIndex("list", s.children...).raw) }

func (m *memory) Tags(_ context.Context, repository string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.tags[repository])), m.request("tags")
}

func (m *memory) Resolve(_ context.Context, repository, identifier string) (digest.Digest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request("resolve"); err != nil {
		return "", err
	}
	if m.repos[repository][digest.Digest(identifier)] != nil {
		return digest.Digest(identifier), nil
	}
	if d := m.tags[repository][identifier]; m.repos[repository][d] != nil {
		return d, nil
	}
	return "", nil
}

func (m *memory) Manifest(_ context.Context, repository string, d digest.Digest) (string, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request("manifest"); err != nil {
		return "", nil, err
	}
	s := m.repos[repository][d]
	if s == nil {
		return "", nil, fs.ErrNotExist
	}
	return s.mediaType, s.raw, nil
}

func (m *memory) Referrers(_ context.Context, repository string, subject digest.Digest) (list []ocispec.Descriptor, api bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for d, s := range m.repos[repository] {
		if s.subject == subject && m.api {
			list = append(list, ocispec.Descriptor{Digest: d})
		}
	}
	return list, m.api, m.request("referrers")
}

func (m *memory) DeleteTag(_ context.Context, repository, tag string, d digest.Digest) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request("delete"); err != nil {
		return false, err
	}
	if now, ok := m.tags[repository][tag]; !ok || now != d && m.repos[repository][now] != nil {
		return false, nil
	}
	delete(m.tags[repository], tag)
	return true, nil
}

func (m *memory) DeleteManifest(_ context.Context, repository string, d digest.Digest) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request("delete"); err != nil {
		if m.stops {
			delete(m.repos[repository], d)
		}
		return false, err
	}
	if m.refuse != nil {
		if err := m.refuse(repository, d); err != nil {
			return false, err
		}
	}
	for other, s := range m.repos[repository] {
		if slices.Contains(s.children, d) && m.repos[repository][d] != nil {
			return false, fmt.Errorf("%s still contains %s", other, d)
		}
	}
	if m.repos[repository][d] == nil {
		return false, nil // like CNCF distribution, which does not look for tags then
	}
	delete(m.repos[repository], d)
	maps.DeleteFunc(m.tags[repository], func(_ string, of digest.Digest) bool { return of == d })
	return true, nil
}

func (m *memory) Unlist(_ context.Context, repository string, subject digest.Digest, gone []digest.Digest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request("unlist"); err != nil {
		return err
	}
	tag := strings.Replace(string(subject), ":", "-", 1)
	before := m.tags[repository][tag]
	list := m.repos[repository][before]
	if list == nil {
		return nil
	}
	delete(m.repos[repository], before)
	delete(m.tags[repository], tag)
	kept := slices.DeleteFunc(slices.Clone(list.children), func(d digest.Digest) bool { return slices.Contains(gone, d) })
	if len(kept) > 0 {
		m.push(repository, newIndex("list", kept...), tag)
	}
	return nil
}
