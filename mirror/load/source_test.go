package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	perRepository = 50 // images
	perBase       = 500
)

// A source serves any number of small images, which it makes when they are requested. Those of a repository have the tags v0,
// v1 and so on. Image i has a config and a layer of its own, and shares a base with others.
type source struct {
	images    int
	manifests map[digest.Digest]int
	blobs     map[digest.Digest]func() []byte
}

func newSource(images int) *source {
	s := &source{images, map[digest.Digest]int{}, map[digest.Digest]func() []byte{}}
	for i := range images {
		_, raw := s.manifest(i)
		s.manifests[digest.FromBytes(raw)] = i
		for _, content := range []func() []byte{func() []byte { return config(i) }, func() []byte { return layer(i) }, func() []byte { return base(i) }} {
			s.blobs[digest.FromBytes(content())] = content
		}
	}
	return s
}

func config(i int) []byte {
	return fmt.Appendf(nil, `{"architecture":"amd64","os":"linux","config":{"Labels":{"number":"%d"}},"rootfs":{"type":"layers","diff_ids":[%q,%q]}}`,
		i, digest.FromBytes(base(i)), digest.FromBytes(layer(i)))
}

func layer(i int) []byte { return fmt.Appendf(nil, "layer %d", i) }

func base(i int) []byte { return []byte(strings.Repeat(fmt.Sprintf("base %d ", i/perBase), 500)) }

func repository(i int) string { return fmt.Sprintf("org/app%d", i/perRepository) }

func tag(i int) string { return fmt.Sprintf("v%d", i%perRepository) }

// names returns the names of the first n images.
func (s *source) names(host string, n int) (all []string) {
	for i := range n {
		all = append(all, host+"/"+repository(i)+":"+tag(i))
	}
	return all
}

// manifest returns the manifest of an image.
func (s *source) manifest(i int) (m ocispec.Manifest, raw []byte) {
	describe := func(mediaType string, content []byte) ocispec.Descriptor {
		return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	}
	m = ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: describe(ocispec.MediaTypeImageConfig, config(i)),
		Layers: []ocispec.Descriptor{describe(ocispec.MediaTypeImageLayer, base(i)), describe(ocispec.MediaTypeImageLayer, layer(i))},
	}
	raw, _ = json.Marshal(m) // descriptors and numbers
	return m, raw
}

// ServeHTTP serves what a client reads of a registry.
func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	if path == "" {
		return
	}
	write := func(mediaType string, content []byte) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(content).String())
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(content) // the client may be gone
		}
	}
	if repository, ok := strings.CutSuffix(path, "/tags/list"); ok {
		var tags []string
		for i := range min(perRepository, s.images) {
			tags = append(tags, tag(i))
		}
		raw, _ := json.Marshal(map[string]any{"name": repository, "tags": tags}) // strings
		write("application/json", raw)
		return
	}
	if name, reference, ok := strings.Cut(path, "/manifests/"); ok {
		i, found := s.manifests[digest.Digest(reference)]
		var number, version int
		if n, _ := fmt.Sscanf(name+" "+reference, "org/app%d v%d", &number, &version); n == 2 {
			i, found = number*perRepository+version, version < perRepository && number*perRepository+version < s.images
		}
		if found {
			_, raw := s.manifest(i)
			write(ocispec.MediaTypeImageManifest, raw)
			return
		}
	} else if _, d, ok := strings.Cut(path, "/blobs/"); ok && s.blobs[digest.Digest(d)] != nil {
		write("application/octet-stream", s.blobs[digest.Digest(d)]())
		return
	}
	http.NotFound(w, r)
}
