package graphdata

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// memory is a Store, and reads its images by name.
type memory struct {
	blobs map[digest.Digest][]byte
	names map[string]ocispec.Descriptor
	reads int // of layer blobs
}

func newMemory() *memory {
	return &memory{blobs: map[digest.Digest][]byte{}, names: map[string]ocispec.Descriptor{}}
}

func (m *memory) Manifest(_ context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, ok := m.names[source]
	if !ok {
		return desc, nil, fmt.Errorf("no image %s: %w", source, fs.ErrNotExist)
	}
	if d != "" {
		desc = ocispec.Descriptor{MediaType: manifest.TypeOf(m.blobs[d]), Digest: d, Size: int64(len(m.blobs[d]))}
	}
	return desc, m.blobs[desc.Digest], nil
}

func (m *memory) Blob(_ context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if strings.Contains(desc.MediaType, "tar") {
		m.reads++
	}
	return io.NopCloser(bytes.NewReader(m.blobs[desc.Digest][offset:])), nil
}

func (m *memory) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	err := write(&b)
	return m.put(mediaType, b.Bytes()), err
}

func (m *memory) put(mediaType string, data []byte) ocispec.Descriptor {
	d := digest.FromBytes(data)
	m.blobs[d] = data
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

func must(t testing.TB, err error) {
	t.Helper()
	fail.On(t, err)
}

// image stores an image with layers, as a Dockerfile makes it.
func (m *memory) image(t *testing.T, name string, layers ...[]registrytest.File) v1.Image {
	t.Helper()
	img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "arm64"}, v1.Config{Entrypoint: []string{"/usr/bin/oc"}, Cmd: []string{"help"}}, layers...)
	must(t, err)
	m.names[name] = m.take(t, img)
	return img
}

func (m *memory) take(t *testing.T, img v1.Image) ocispec.Descriptor {
	t.Helper()
	all, err := img.Layers()
	must(t, err)
	for _, l := range all {
		r, err := l.Compressed()
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		m.put("", data)
	}
	config, err := img.RawConfigFile()
	must(t, err)
	m.put("", config)
	raw, err := img.RawManifest()
	must(t, err)
	return m.put(manifest.TypeOf(raw), raw)
}

var bottom = []registrytest.File{{Name: "bin/"}, {Name: "bin/bash", Data: []byte("program")}}

func TestBuild(t *testing.T) {
	d := mustRead(t, small(map[string]string{"LICENSE": "Apache", "raw/metadata.json": "{}", "blocked-edges/a.yaml": risk("4.2.0", ".*")}))
	m := newMemory()
	img := m.image(t, "quay.io/release@sha256:cli", bottom, bottom)
	built, err := Build(t.Context(), m, d, m, "quay.io/release@sha256:cli")
	must(t, err)
	fail.Diff(t, 0, m.reads)
	base, err := img.Manifest()
	must(t, err)
	now, err := v1.ParseManifest(bytes.NewReader(m.blobs[built.Root.Digest]))
	must(t, err)
	if diff := cmp.Diff(base.Layers, now.Layers[:2]); diff != "" || len(now.Layers) != 3 {
		t.Errorf("%d layers, those of the base (-want +got):\n%s", len(now.Layers), diff)
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(m.blobs[digest.Digest(now.Config.Digest.String())]))
	must(t, err)
	want := []string{"/bin/bash", "-c", "exec cp -rp /var/lib/cincinnati-graph-data/* /var/lib/cincinnati/graph-data"}
	if diff := cmp.Diff(want, config.Config.Cmd); diff != "" || len(config.Config.Entrypoint) > 0 {
		t.Errorf("entrypoint %q, command (-want +got):\n%s", config.Config.Entrypoint, diff)
	}
	if config.Architecture != "arm64" || len(config.RootFS.DiffIDs) != 3 {
		t.Errorf("the config is of %s and has %d layers", config.Architecture, len(config.RootFS.DiffIDs))
	}
	checkLayer(t, m.blobs[digest.Digest(now.Layers[2].Digest.String())], d)

	again, err := Build(t.Context(), m, mustRead(t, texts(d)), newMemory(), "quay.io/release@sha256:cli")
	must(t, err)
	fail.Diff(t, built, again)
	m.names["built"] = built.Root
	back, err := ReadImage(t.Context(), m, "built")
	must(t, err)
	if diff := cmp.Diff(texts(d), texts(back)); diff != "" || back.Digest != "" {
		t.Errorf("digest %q, files read back (-want +got):\n%s", back.Digest, diff)
	}
	if _, err := Build(t.Context(), m, d, m, "nowhere"); err == nil || !strings.Contains(err.Error(), "on nowhere: no image nowhere") {
		t.Errorf("a missing base: %v", err)
	}
}

// texts returns the files of graph data.
func texts(d *Data) map[string]string {
	out := map[string]string{}
	for name, text := range d.files {
		out[name] = string(text)
	}
	return out
}

// checkLayer checks that any user can copy the files of the layer, and that the layer does not
// depend on time or machine.
func checkLayer(t *testing.T, blob []byte, d *Data) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(blob))
	must(t, err)
	var names, files []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		names = append(names, h.Name)
		mode := int64(0o755)
		if h.Typeflag == tar.TypeReg {
			mode = 0o644
			if name, ok := strings.CutPrefix(h.Name, imageDir+"/"); ok && !strings.Contains(name, ".wh.") {
				files = append(files, name)
			}
		}
		if h.Mode != mode || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s has mode %o, owner %d:%d and time %s", h.Name, h.Mode, h.Uid, h.Gid, h.ModTime)
		}
	}
	fail.Diff(t, d.paths(), files)
	if want := []string{"var/", "var/lib/", imageDir + "/"}; !slices.Equal(names[:3], want) || !slices.IsSorted(names) {
		t.Errorf("the layer begins with %q or is not sorted", names[:3])
	}
}

func TestBuildIndex(t *testing.T) {
	d := mustRead(t, small(nil))
	m := newMemory()
	one := m.image(t, "one", bottom)
	config, err := one.ConfigFile()
	must(t, err)
	config = config.DeepCopy()
	config.Architecture = "s390x"
	two, err := mutate.ConfigFile(one, config)
	must(t, err)
	m.take(t, two)
	list, err := registrytest.ImageIndex(false, one, two)
	must(t, err)
	raw, err := list.RawManifest()
	must(t, err)
	m.names["list"] = m.put(manifest.DockerList, raw)
	built, err := Build(t.Context(), m, d, m, "list")
	must(t, err)
	index, err := v1.ParseIndexManifest(bytes.NewReader(m.blobs[built.Root.Digest]))
	must(t, err)
	var platforms []string
	for _, line := range index.Manifests {
		platforms = append(platforms, line.Platform.Architecture)
		m.names[line.Platform.Architecture] = ocispec.Descriptor{MediaType: string(line.MediaType), Digest: digest.Digest(line.Digest.String()), Size: line.Size}
		back, err := ReadImage(t.Context(), m, line.Platform.Architecture)
		must(t, err)
		fail.Diff(t, texts(d), texts(back))
	}
	fail.Diff(t, []string{"arm64", "s390x"}, platforms)
}

// TestReadImage reads images of other tools: oc-mirror's layer has absolute names, and a Dockerfile
// adds files that servers ignore.
func TestReadImage(t *testing.T) {
	d := mustRead(t, small(nil))
	tree := func(root string, files map[string]string) []registrytest.File {
		var out []registrytest.File
		for name, text := range files {
			out = append(out, registrytest.File{Name: root + imageDir + "/" + name, Data: []byte(text)})
		}
		return out
	}
	more := small(map[string]string{"README.md": "#", "hack/x.yaml": "{"})
	m := newMemory()
	m.image(t, "oc-mirror", bottom, tree("/", small(nil)))
	m.image(t, "Dockerfile", bottom, tree("", more), bottom)
	for _, name := range []string{"oc-mirror", "Dockerfile"} {
		back, err := ReadImage(t.Context(), m, name)
		if err != nil {
			t.Error(err)
			continue
		}
		fail.Diff(t, texts(d), texts(back))
	}
	m.image(t, "empty", bottom)
	m.image(t, "wrong", tree("", small(map[string]string{"blocked-edges/a.yaml": "to: x"})))
	m.image(t, "half", tree("", map[string]string{"channels/a.yaml": "name: a"}))
	for name, want := range map[string]string{
		"empty": "reading graph data from image empty: reading /var/lib/cincinnati-graph-data in image sha256:",
		"wrong": `reading graph data from image wrong: blocked-edges/a.yaml: to: "x"`,
		"half":  "no file named version",
		"none":  "no image none",
	} {
		if _, err := ReadImage(t.Context(), m, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", name, err, want)
		}
	}
}
