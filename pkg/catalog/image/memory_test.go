package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// memory is a reader and a store that counts how often a blob is read.
type memory struct {
	mu    sync.Mutex
	blobs map[digest.Digest][]byte
	reads map[digest.Digest]int
}

func newMemory() *memory {
	return &memory{blobs: map[digest.Digest][]byte{}, reads: map[digest.Digest]int{}}
}

func (m *memory) get(desc ocispec.Descriptor) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads[desc.Digest]++
	data, ok := m.blobs[desc.Digest]
	if !ok {
		return nil, fmt.Errorf("no blob %s", desc.Digest)
	}
	return data, nil
}

func (m *memory) Manifest(_ context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	data, err := m.get(ocispec.Descriptor{Digest: d})
	return ocispec.Descriptor{Digest: d, Size: int64(len(data))}, data, err
}

func (m *memory) Blob(_ context.Context, _ string, desc ocispec.Descriptor, _ int64) (io.ReadCloser, error) {
	data, err := m.get(desc)
	return io.NopCloser(bytes.NewReader(data)), err
}

func (m *memory) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return ocispec.Descriptor{}, err
	}
	return m.put(mediaType, b.Bytes()), nil
}

func (m *memory) put(mediaType string, data []byte) ocispec.Descriptor {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := digest.FromBytes(data)
	m.blobs[d] = data
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

// putImage stores an image of go-containerregistry.
func (m *memory) putImage(t *testing.T, img v1.Image) ocispec.Descriptor {
	t.Helper()
	layers, err := img.Layers()
	fail.On(t, err)
	for _, l := range layers {
		r, err := l.Compressed()
		fail.On(t, err)
		data, err := io.ReadAll(r)
		fail.On(t, err)
		m.put("", data)
	}
	config, err := img.RawConfigFile()
	fail.On(t, err)
	m.put("", config)
	manifest, err := img.RawManifest()
	fail.On(t, err)
	mediaType, err := img.MediaType()
	fail.On(t, err)
	return m.put(string(mediaType), manifest)
}

// putIndex stores an index and its images.
func (m *memory) putIndex(t *testing.T, index v1.ImageIndex) ocispec.Descriptor {
	t.Helper()
	lines, err := index.IndexManifest()
	fail.On(t, err)
	for _, line := range lines.Manifests {
		img, err := index.Image(line.Digest)
		fail.On(t, err)
		m.putImage(t, img)
	}
	raw, err := index.RawManifest()
	fail.On(t, err)
	return m.put(string(lines.MediaType), raw)
}

// layoutOf writes everything as an OCI layout, for other readers.
func (m *memory) layoutOf(t *testing.T, root ocispec.Descriptor) layout.Path {
	t.Helper()
	dir := t.TempDir()
	fail.On(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755))
	for d, data := range m.blobs {
		fail.On(t, os.WriteFile(filepath.Join(dir, "blobs", "sha256", d.Encoded()), data, 0o644))
	}
	fail.On(t, os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
	index := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":%q,"digest":%q,"size":%d}]}`, root.MediaType, root.Digest, root.Size)
	fail.On(t, os.WriteFile(filepath.Join(dir, "index.json"), []byte(index), 0o644))
	p, err := layout.FromPath(dir)
	fail.On(t, err)
	return p
}

// A header is one entry of a test layer. A name that ends in a slash is a directory; data is the
// content, or the target of a symlink ("-> ") or a hard link ("=> ").
type header struct{ name, data string }

func pack(t testing.TB, headers []header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		th := &tar.Header{Name: h.name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(h.data))}
		switch {
		case len(h.name) > 0 && h.name[len(h.name)-1] == '/':
			th.Typeflag, th.Mode = tar.TypeDir, 0o755
		case len(h.data) > 3 && h.data[:3] == "-> ":
			th.Typeflag, th.Linkname, th.Size = tar.TypeSymlink, h.data[3:], 0
		case len(h.data) > 3 && h.data[:3] == "=> ":
			th.Typeflag, th.Linkname, th.Size = tar.TypeLink, h.data[3:], 0
		}
		fail.On(t, w.WriteHeader(th))
		if th.Size > 0 {
			_, err := io.WriteString(w, h.data)
			fail.On(t, err)
		}
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	fail.On(t, err)
	fail.On(t, w.Close())
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	fail.On(t, err)
	return w.EncodeAll(data, nil)
}

// testLayer is a v1.Layer with a diff ID that may differ from the digest.
type testLayer struct {
	v1.Layer
	diffID v1.Hash
}

func (l testLayer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// A source describes the image of one platform.
type source struct {
	arch       string
	layers     [][]header
	label      string // "" is /configs
	entrypoint []string
	cmd        []string
	docker     bool
	zstd       bool
	plain      bool
	labels     map[string]string
	noHistory  bool
}

func hash(data []byte) v1.Hash {
	sum := sha256.Sum256(data)
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}

func (s source) image(t *testing.T) v1.Image {
	t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	mediaType := types.OCILayer
	if s.docker {
		img = mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.DockerManifestSchema2), types.DockerConfigJSON)
		mediaType = types.DockerLayer
	}
	for n, headers := range s.layers {
		data := pack(t, headers)
		id := hash(data)
		kind := mediaType
		switch {
		case s.zstd:
			data, kind = zstandard(t, data), types.OCILayerZStd
		case s.plain:
			kind = types.OCIUncompressedLayer
		default:
			data = gzipped(t, data)
		}
		var err error
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:     testLayer{static.NewLayer(data, kind), id},
			History:   v1.History{CreatedBy: fmt.Sprintf("step %d", n)},
			MediaType: kind,
		})
		fail.On(t, err)
	}
	config, err := img.ConfigFile()
	fail.On(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", s.arch
	if s.arch == "" {
		config.Architecture = "amd64"
	}
	config.Config.Entrypoint, config.Config.Cmd = s.entrypoint, s.cmd
	config.Config.Env = []string{"PATH=/bin"}
	config.Config.Labels = map[string]string{ConfigsLabel: "/configs", "vendor": "Example <a@b>"}
	if s.label != "" {
		config.Config.Labels[ConfigsLabel] = s.label
	}
	if s.labels != nil {
		config.Config.Labels = s.labels
	}
	if s.noHistory {
		config.History = nil
	}
	img, err = mutate.ConfigFile(img, config)
	fail.On(t, err)
	return img
}

// index makes an index of the sources' images.
func index(t *testing.T, sources ...source) v1.ImageIndex {
	t.Helper()
	ix := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	if sources[0].docker {
		ix = mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	}
	for _, s := range sources {
		ix = mutate.AppendManifests(ix, mutate.IndexAddendum{
			Add: s.image(t),
			Descriptor: v1.Descriptor{
				Platform:    &v1.Platform{OS: "linux", Architecture: s.arch},
				Annotations: map[string]string{"note": s.arch},
			},
		})
	}
	return ix
}

// files returns catalog files for Build.
type text string

func (s text) Size() int64 { return int64(len(s)) }

func (s text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(s))
	return int64(n), err
}

// read opens and reads an image and returns the catalog files.
func read(t *testing.T, m *memory, root ocispec.Descriptor) (*Image, map[string]string, error) {
	t.Helper()
	img, err := Open(t.Context(), m, "", root)
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	files := map[string]string{}
	_, err = img.survey(t.Context(), func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if _, ok := files[name]; ok {
			return errors.New("file given twice: " + name)
		}
		files[name] = string(data)
		return nil
	}, layers.MaxUnpacked)
	return img, files, err
}

func digestOf(s string) digest.Digest { return digest.FromString(s) }
