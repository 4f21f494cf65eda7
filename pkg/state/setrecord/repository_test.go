package setrecord

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A memory is a repository, and a store, in memory. It counts requests.
type memory struct {
	host, prefix string
	tags         map[string][]byte
	blobs        map[digest.Digest][]byte
	requests     int
	docker       bool // manifests are stored in the form of Docker
}

func newMemory() *memory {
	return &memory{host: "mirror.example.com:5000", prefix: "ocp", tags: map[string][]byte{}, blobs: map[digest.Digest][]byte{}}
}

func (m *memory) Mirror() (host, prefix string) { return m.host, m.prefix }

func (m *memory) Tags(context.Context) ([]string, error) {
	m.requests++
	if len(m.tags) == 0 {
		return nil, fs.ErrNotExist
	}
	return slices.Collect(maps.Keys(m.tags)), nil
}

func (m *memory) Manifest(_ context.Context, tag string) (ocispec.Descriptor, []byte, error) {
	m.requests++
	raw, ok := m.tags[tag]
	if !ok {
		return ocispec.Descriptor{}, nil, fs.ErrNotExist
	}
	return ocispec.Descriptor{Digest: digest.FromBytes(raw)}, raw, nil
}

func (m *memory) Blob(_ context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	m.requests++
	content, ok := m.blobs[desc.Digest]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (m *memory) PutBlob(ctx context.Context, desc ocispec.Descriptor, open Open) error {
	m.requests++
	r, err := open(ctx, 0)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(r)
	m.blobs[desc.Digest] = content
	return err
}

func (m *memory) PutManifest(_ context.Context, tag, _ string, raw []byte) (digest.Digest, error) {
	m.requests++
	var layers []ocispec.Descriptor
	if run, err := parsePending(raw); err == nil {
		layers = append(layers, run.PlanLayer)
	} else {
		t, err := parseManifest(raw)
		if err != nil {
			return "", err
		}
		layers = append(layers, t.RecordLayer, t.PlanLayer)
	}
	for _, l := range layers {
		if _, ok := m.blobs[l.Digest]; !ok {
			return "", ErrIncomplete
		}
	}
	if m.docker {
		var err error
		if raw, _, err = manifest.DockerArtifact(raw); err != nil {
			return "", err
		}
	}
	m.tags[tag] = raw
	return digest.FromBytes(raw), nil
}

// A store keeps layers in memory.
type store map[digest.Digest][]byte

func (s store) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	err := write(&b)
	d := digest.FromBytes(b.Bytes())
	s[d] = b.Bytes()
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(b.Len())}, err
}

func (s store) Blob(_ context.Context, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s[desc.Digest][offset:])), nil
}

// record returns a record with an image, a catalog and a release in the mirror.
func record(names ...string) *state.Record {
	at := func(path string) reference.Reference {
		return reference.Reference{Host: "mirror.example.com:5000", Path: "ocp/" + path, Tag: "v1", Digest: digest.FromString(path)}
	}
	graph := at("graph")
	r := &state.Record{GraphData: &graph, Runs: 7}
	for _, name := range names {
		source := reference.Reference{Host: "src.example.com", Path: name, Tag: "v1"}
		r.Images = append(r.Images, resources.Image{Source: source, Mirror: at(name), Kind: "operator"})
	}
	r.AddCatalog(resources.Catalog{Source: "src.example.com/index:v1", Mirror: at("index"), ConfigsDir: "/configs"}, digest.FromString("selection"))
	r.Names = []resources.CatalogName{{Source: "src.example.com/index:v1", Place: "mirror.example.com:5000/ocp/index:v1", Name: "index-v1"}}
	r.Releases = []state.Release{{Version: "4.20.1", Arch: "amd64", Source: "quay.io/r@" + digest.FromString("r").String(), Mirror: at("release"), Channels: []string{"stable-4.20"}}}
	return r
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// write records a run of an image set.
func write(t *testing.T, m *memory, name string, before *Revision, r *state.Record, plan string) *Revision {
	t.Helper()
	run := Revision{
		Name: name, LastRun: time.Date(2026, 11, 23, 12, m.requests, 0, 0, time.UTC), Host: "host", User: "user", Version: "v1",
		From: FromConfiguration, Configuration: digest.FromString("c"), Content: Content{Catalogs: 1, Bytes: 1 << 40},
	}
	revision, err := Write(t.Context(), m, store{}, run, before, r, text(plan))
	fail.On(t, err)
	return revision
}
