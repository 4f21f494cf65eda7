package manifest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestEquivalent checks that each equivalent has the same meaning in the other format, and is not refused there.
func TestEquivalent(t *testing.T) {
	for _, pair := range equivalents {
		for f, want := range map[Format]string{Docker: pair[0], OCI: pair[1]} {
			for _, mediaType := range pair {
				if got, ok := f.Equivalent(mediaType); got != want || !ok || f.Refuses(got) || f.Refuses(mediaType) != (mediaType != want) {
					t.Errorf("%s: %s became %s", f, mediaType, got)
				}
			}
		}
	}
	for mediaType, refused := range map[string]bool{ocispec.MediaTypeImageLayerZstd: true, ocispec.MediaTypeEmptyJSON: true, "application/vnd.docker.plugin.v1+json": false} {
		if _, ok := Docker.Equivalent(mediaType); ok || Docker.Refuses(mediaType) != refused || OCI.Refuses(mediaType) {
			t.Error(mediaType)
		}
	}
}

// TestDockerArtifact checks that the form for registries without artifacts keeps what its readers need, and that
// its blobs are what it lists.
func TestDockerArtifact(t *testing.T) {
	record := ocispec.Descriptor{MediaType: "application/x+json+gzip", Digest: digest.FromString("record"), Size: 6}
	raw, err := json.Marshal(ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/x", Config: ocispec.DescriptorEmptyJSON,
		Layers: []ocispec.Descriptor{record, ocispec.DescriptorEmptyJSON}, Annotations: map[string]string{"a": "b"},
	})
	fail.On(t, err)
	image, blobs, err := DockerArtifact(raw)
	if err != nil || bytes.Contains(image, []byte("vnd.oci")) || len(blobs) != 2 {
		t.Fatalf("%s, %d blobs, %v", image, len(blobs), err)
	}
	var m ocispec.Manifest
	fail.On(t, json.Unmarshal(image, &m))
	if m.MediaType != DockerImage || m.ArtifactType != "application/x" || m.Annotations["a"] != "b" || m.Config.MediaType != DockerConfig || m.Layers[0].Digest != record.Digest {
		t.Errorf("%s", image)
	}
	for _, l := range m.Layers {
		if l.MediaType != DockerLayer {
			t.Errorf("%+v", l)
		}
	}
	for i, listed := range []ocispec.Descriptor{m.Layers[1], m.Config} {
		if b := blobs[i]; listed.Digest != b.Digest || digest.FromBytes(b.Data) != b.Digest || int64(len(b.Data)) != listed.Size {
			t.Errorf("%+v is not %+v", b.Descriptor, listed)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(blobs[0].Data))
	fail.On(t, err)
	if files, err := io.ReadAll(z); err != nil || len(files) != 1024 || len(bytes.Trim(files, "\x00")) > 0 {
		t.Errorf("%d bytes, %v", len(files), err)
	}
	var config struct {
		History []struct{ Created string }
		RootFS  struct {
			Type    string
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(blobs[1].Data, &config); err != nil || len(config.History) != 2 || config.RootFS.Type != "layers" || len(config.RootFS.DiffIDs) != 2 {
		t.Errorf("%s: %v", blobs[1].Data, err)
	}
}
