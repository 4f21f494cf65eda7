package mirroring_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestArtifacts checks that artifacts that are not container images arrive byte for byte, also over a disk, and that what is
// not redistributable is named. Their text is not what Gantry would write.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	s := mirrortest.Empty(t)
	s.Source = registrytest.Start(t, registrytest.Options{Sparse: true}) // it accepts the URLs of layers
	s.Mirror = s.Source
	s.Write("registries.conf", "[[registry]]\nprefix = \"registry.example.com\"\nlocation = \""+s.Source.Host+"/registry.example.com\"\ninsecure = true\n[[registry]]\nlocation = \""+s.Source.Host+"\"\ninsecure = true\n")
	part := func(mediaType, data string) ocispec.Descriptor {
		return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(data), Size: int64(len(data))}
	}
	vendor := part("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "of the vendor")
	vendor.URLs = []string{"https://vendor.example.com/layer"}
	const windows = `{"os":"windows","architecture":"amd64"}`
	want, names := map[string]digest.Digest{}, []string{}
	for name, a := range map[string]struct {
		manifest ocispec.Manifest
		blobs    []string
	}{
		"model": {ocispec.Manifest{Config: part("application/vnd.docker.ai.model.config.v0.1+json", "{}"), Layers: []ocispec.Descriptor{part("application/vnd.docker.ai.gguf.v3", "GGUF")}}, []string{"{}", "GGUF"}},
		// All its content is the empty object.
		"flag":    {ocispec.Manifest{ArtifactType: "application/vnd.example.flag", Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{ocispec.DescriptorEmptyJSON}}, []string{"{}"}},
		"windows": {ocispec.Manifest{Config: part(ocispec.MediaTypeImageConfig, windows), Layers: []ocispec.Descriptor{vendor, part(ocispec.MediaTypeImageLayerGzip, "own")}}, []string{windows, "own"}},
	} {
		a.manifest.Versioned, a.manifest.MediaType = specs.Versioned{SchemaVersion: 2}, ocispec.MediaTypeImageManifest
		raw, err := json.MarshalIndent(a.manifest, "", "\t")
		fail.On(t, err)
		raw = bytes.Replace(raw, []byte("{"), []byte("{\n\t\"x-unknown\": 1.50,"), 1)
		blobs := elements.Map(a.blobs, func(b string) []byte { return []byte(b) })
		want[name], err = s.Source.Client().PushRaw(t.Context(), "registry.example.com/tools/"+name, "v1", a.manifest.MediaType, raw, blobs...)
		fail.On(t, err)
		names = append(names, "registry.example.com/tools/"+name+":v1")
	}
	config := s.Images(names...)
	const note = "registry.example.com/tools/windows:v1: 1 layer is not redistributable and only at the vendor's URLs; clusters need access to these URLs"
	if notes := s.Planned(config).Notes; !slices.Contains(notes, note) {
		t.Errorf("no note %q in %s", note, strings.Join(notes, "\n"))
	}
	s.Mirrored(config, s.Docker("direct"))
	s.Imported(s.Docker("carried"), s.Exported(config, "disk"))
	for _, prefix := range []string{"direct/tools/", "carried/tools/"} {
		for name, d := range want {
			if got, err := s.Mirror.Client().Pull(t.Context(), prefix+name, "v1"); err != nil || got.Digest != d {
				t.Errorf("%s%s: %v, %v; want %s", prefix, name, got.Digest, err, d)
			}
		}
	}
}
