package payload

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

const repository = "quay.io/example/release"

// memory is an image.Reader of one repository that counts reads.
type memory struct {
	mu    sync.Mutex
	blobs map[digest.Digest][]byte
	types map[digest.Digest]string
	tag   digest.Digest // the manifest that the repository's name refers to
	read  map[digest.Digest]int
}

func newMemory() *memory {
	return &memory{blobs: map[digest.Digest][]byte{}, types: map[digest.Digest]string{}, read: map[digest.Digest]int{}}
}

func (m *memory) Manifest(_ context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if d == "" {
		d = m.tag
	}
	data, err := m.get(source, d)
	return ocispec.Descriptor{MediaType: m.types[d], Digest: d, Size: int64(len(data))}, data, err
}

func (m *memory) Blob(_ context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	data, err := m.get(source, desc.Digest)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data[offset:])), nil
}

func (m *memory) get(source string, d digest.Digest) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read[d]++
	data, ok := m.blobs[d]
	if !ok || source != repository {
		return nil, fmt.Errorf("%s@%s: %w", source, d, fs.ErrNotExist)
	}
	return data, nil
}

func (m *memory) put(mediaType string, data []byte) ocispec.Descriptor {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := digest.FromBytes(data)
	m.blobs[d], m.types[d] = data, mediaType
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

// An entry is one header of a layer: a directory if the name ends in a slash, a symlink if the text
// begins with "-> ".
type entry struct{ name, text string }

// A spec describes an image. The zero value of most fields is the value of a release image.
type spec struct {
	arch, label string
	config      string // media type
	layerType   string
	layers      [][]entry
	diffIDs     []digest.Digest // replaces the correct ones
	compression string          // "zstd", "plain"
}

func pack(t testing.TB, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o444, Typeflag: tar.TypeReg, Size: int64(len(e.text))}
		link, isLink := strings.CutPrefix(e.text, "-> ")
		switch {
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		case isLink:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, link, 0
		}
		fail.On(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, e.text)
			fail.On(t, err)
		}
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

func compressed(t testing.TB, data []byte, how string) ([]byte, string) {
	t.Helper()
	var b bytes.Buffer
	switch how {
	case "plain":
		return data, ocispec.MediaTypeImageLayer
	case "zstd":
		w, err := zstd.NewWriter(&b)
		fail.On(t, err)
		_, err = w.Write(data)
		fail.On(t, err)
		fail.On(t, w.Close())
		return b.Bytes(), ocispec.MediaTypeImageLayerZstd
	}
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	fail.On(t, err)
	fail.On(t, w.Close())
	return b.Bytes(), "application/vnd.docker.image.rootfs.diff.tar.gzip"
}

// image stores an image and returns its manifest.
func (m *memory) image(t testing.TB, s spec) ocispec.Descriptor {
	t.Helper()
	var descs []ocispec.Descriptor
	var ids []digest.Digest
	for _, entries := range s.layers {
		data := pack(t, entries)
		ids = append(ids, digest.FromBytes(data))
		blob, mediaType := compressed(t, data, s.compression)
		descs = append(descs, m.put(cmp.Or(s.layerType, mediaType), blob))
	}
	if s.diffIDs != nil {
		ids = s.diffIDs
	}
	labels := map[string]string{}
	if s.label != "" {
		labels[versionLabel] = s.label
	}
	config := m.put(cmp.Or(s.config, dockerConfig), encode(t, map[string]any{
		"architecture": cmp.Or(s.arch, "amd64"), "os": "linux",
		"config": map[string]any{"Labels": labels}, "rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	}))
	desc := m.put(manifest.DockerImage, encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": manifest.DockerImage, "config": config, "layers": descs,
	}))
	desc.Platform = &ocispec.Platform{OS: "linux", Architecture: cmp.Or(s.arch, "amd64")}
	return desc
}

// list stores an index of images.
func (m *memory) list(t testing.TB, children ...ocispec.Descriptor) ocispec.Descriptor {
	t.Helper()
	return m.put(manifest.DockerList, encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": manifest.DockerList, "manifests": children,
	}))
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	fail.On(t, err)
	return data
}

// sha returns the digest of a fictitious image.
func sha(name string) digest.Digest { return digest.FromString(name) }

const content = "quay.io/example/content"

// references returns an image stream of components, each "name=image". The image is in the
// repository content.
func references(t testing.TB, version string, components ...string) string {
	t.Helper()
	var s imageStream
	s.Kind, s.APIVersion, s.Metadata.Name = "ImageStream", "image.openshift.io/v1", version
	for _, c := range components {
		name, image, _ := strings.Cut(c, "=")
		s.Spec.Tags = append(s.Spec.Tags, imageTag{Name: name, From: imageFrom{Kind: "DockerImage", Name: content + "@" + sha(image).String()}})
	}
	return string(encode(t, s))
}

func metadata(version, more string) string {
	return fmt.Sprintf(`{"kind":"cincinnati-metadata-v0","version":%q,"previous":["4.20.3","4.20.4"],"metadata":{"url":"https://example.com/errata/1"%s}}`, version, more)
}

// releaseLayer returns the entries of a layer as oc creates it.
func releaseLayer(t testing.TB, version string, more ...entry) []entry {
	t.Helper()
	return slices.Concat([]entry{
		{"release-manifests/", ""},
		{referencesFile, references(t, version, "etcd=etcd", "cli=cli", "cli-alias=cli")},
		{metadataFile, metadata(version, "")},
	}, more)
}

// The layers of the operator below the release layer.
var (
	baseLayer     = []entry{{"etc/", ""}, {"etc/os-release", "RHEL"}}
	operatorLayer = []entry{{"manifests/", ""}, {"manifests/0000_00_operator_01_admingate_configmap.yaml", gatesText}, {"usr/bin/operator", "program"}}
)

const gatesText = `apiVersion: v1
kind: ConfigMap
metadata:
  name: admin-gates
  namespace: openshift-config-managed
data:
  ack-4.20-sigstore-in-4.21: |-
    Mirror the signatures first.
  ack-4.20-api-removals-in-4.21: Migrate resources first.
`
