package manifest

import (
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A Blob is a small blob with its content.
type Blob struct {
	ocispec.Descriptor
	Data []byte
}

// emptyTar is an archive without files, compressed with gzip.
var emptyTar = []byte{
	0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x63, 0x60, 0x18, 0x05, 0xa3, 0x60,
	0x14, 0x8c, 0x54, 0x00, 0x00, 0x2e, 0xaf, 0xb5, 0xef, 0x00, 0x04, 0x00, 0x00,
}

// DockerArtifact returns an OCI artifact in a form for registries that accept only Docker's images: its layers
// as those of an image, with a config that such registries can read. artifactType and annotations stay as
// fields beside those that Docker defines, so that the same code reads both forms. An empty layer becomes an
// archive without files. The blobs are those that the artifact itself does not have.
func DockerArtifact(raw []byte) (image []byte, blobs []Blob, err error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, nil, fmt.Errorf("reading the manifest: %w", err)
	}
	empty := newBlob(DockerLayer, emptyTar)
	type history struct {
		Created string `json:"created"`
		By      string `json:"created_by"`
	}
	var config struct {
		Architecture string    `json:"architecture"`
		Config       struct{}  `json:"config"`
		Created      string    `json:"created"`
		History      []history `json:"history"` // Quay requires one for each layer
		OS           string    `json:"os"`
		RootFS       struct {
			Type    string          `json:"type"`
			DiffIDs []digest.Digest `json:"diff_ids"`
		} `json:"rootfs"`
	}
	const created = "1970-01-01T00:00:00Z"
	config.Architecture, config.OS, config.Created, config.RootFS.Type = "amd64", "linux", created, "layers"
	for i, l := range m.Layers {
		if l.MediaType == ocispec.MediaTypeEmptyJSON {
			l = empty.Descriptor
			blobs = append(blobs, empty)
		}
		m.Layers[i] = ocispec.Descriptor{MediaType: DockerLayer, Digest: l.Digest, Size: l.Size}
		config.History = append(config.History, history{created, "gantry"})
		// The content is no archive of files, so there is no better value.
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, l.Digest)
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the config: %w", err)
	}
	made := newBlob(DockerConfig, text)
	m.MediaType, m.Config = DockerImage, made.Descriptor
	image, err = json.Marshal(m)
	return image, append(blobs, made), err
}

func newBlob(mediaType string, data []byte) Blob {
	return Blob{ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, data}
}
