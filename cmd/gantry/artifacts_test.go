package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// part returns the descriptor of a blob.
func part(mediaType, data string) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(data), Size: int64(len(data))}
}

// pushArtifact pushes a manifest with a config and layers of any type. Its text is not what Gantry would
// write: it is indented, and has a field that no specification has.
func (w *fixture) pushArtifact(ref string, m ocispec.Manifest, blobs ...string) digest.Digest {
	w.t.Helper()
	m.Versioned, m.MediaType = specs.Versioned{SchemaVersion: 2}, ocispec.MediaTypeImageManifest
	raw, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		w.t.Fatal(err)
	}
	raw = bytes.Replace(raw, []byte("{"), []byte("{\n\t\"x-unknown\": 1.50,"), 1)
	var parts [][]byte
	for _, b := range blobs {
		parts = append(parts, []byte(b))
	}
	repository, tag, _ := strings.Cut(ref, ":")
	d, err := w.source.Client().PushRaw(w.t.Context(), repository, tag, m.MediaType, raw, parts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// newEmptyFixture returns a fixture with one registry, which is both the source images.example.net and the
// mirror.
func newEmptyFixture(t *testing.T, o registrytest.Options) *fixture {
	t.Helper()
	notAgain(t)
	registry := registrytest.Start(t, o)
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: registry, mirror: registry}
	w.surroundings(w.write("registries.conf", "[[registry]]\nprefix = \"images.example.net\"\nlocation = \""+registry.Host+"/images.example.net\"\ninsecure = true\n"+
		"[[registry]]\nlocation = \""+registry.Host+"\"\ninsecure = true\n"), "")
	return w
}

// TestArtifacts checks that artifacts that are not container images arrive byte for byte, directly and over
// a disk, and that what is not redistributable is named.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{Sparse: true}) // it accepts the URLs of layers
	vendor := part("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "of the vendor")
	vendor.URLs = []string{"https://vendor.example.com/layer"}
	const tools = "images.example.net/tools/"
	want := map[string]digest.Digest{
		"model": w.pushArtifact(tools+"model:v1", ocispec.Manifest{
			Config: part("application/vnd.docker.ai.model.config.v0.1+json", "{}"), Layers: []ocispec.Descriptor{part("application/vnd.docker.ai.gguf.v3", "GGUF weights")},
		}, "{}", "GGUF weights"),
		"flag": w.pushArtifact(tools+"flag:v1", ocispec.Manifest{ // all its content is the empty object
			ArtifactType: "application/vnd.example.flag", Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{ocispec.DescriptorEmptyJSON},
		}, "{}"),
		"windows": w.pushArtifact(tools+"windows:v1", ocispec.Manifest{
			Config: part(ocispec.MediaTypeImageConfig, `{"os":"windows","architecture":"amd64"}`), Layers: []ocispec.Descriptor{vendor, part(ocispec.MediaTypeImageLayerGzip, "own layer")},
		}, `{"os":"windows","architecture":"amd64"}`, "own layer"),
	}
	cfg := w.config("imageset.yaml", "  additionalImages: [{name: '"+tools+"model:v1'}, {name: '"+tools+"flag:v1'}, {name: '"+tools+"windows:v1'}]\n")
	w.must("mirror", "-c", cfg, w.docker("/direct"))
	w.says(w.must("plan", "-c", cfg).stdout, "images.example.net/tools/windows:v1: 1 layer is not redistributable and only at the vendor's URLs; clusters need access to these URLs")
	w.must("mirror", "-c", cfg, "file://"+w.path("disk"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	for _, prefix := range []string{"direct/tools/", "carried/tools/"} {
		for name, d := range want {
			if got, err := w.mirror.Client().Pull(t.Context(), prefix+name, "v1"); err != nil || got.Digest != d {
				t.Errorf("%s%s: %v, %v; want %s", prefix, name, got.Digest, err, d)
			}
		}
	}
}
