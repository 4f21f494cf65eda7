// Package manifest recognizes the types of manifests.
//
// A manifest is the JSON that a digest or tag in a registry refers to: an image manifest, which
// lists a config and layers, or an index, which lists further manifests by platform. Both exist in
// two families with the same fields and different media types: OCI, defined by the image
// specification, and Docker schema 2, defined here. Docker schema 1 is a different format; it is
// recognized so that it can be refused.
package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The media types of Docker, from the distribution project's image manifest version 2, schema 2. The
// OCI media types are ocispec.MediaTypeImageManifest and MediaTypeImageIndex.
const (
	DockerImage = "application/vnd.docker.distribution.manifest.v2+json"
	DockerList  = "application/vnd.docker.distribution.manifest.list.v2+json"
	// DockerConfig is the type of the config of an image.
	DockerConfig = "application/vnd.docker.container.image.v1+json"
	// DockerLayer is the type of a layer that is compressed with gzip.
	DockerLayer = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// schema1 is the prefix of the media types of schema 1, signed and unsigned.
const schema1 = "application/vnd.docker.distribution.manifest.v1"

// MaxSize is the maximum size of a manifest in bytes. Registries accept at least 4 MiB
// (distribution specification, "Pushing manifests").
const MaxSize = 8 << 20

// The least bytes that an object of a manifest has on average, and how many objects any manifest may have: `{},` has
// three bytes and takes fifty times as much memory.
const (
	minObject   = 32
	freeObjects = 64 << 10
)

// CheckDensity returns an error if parsing a manifest would take far more memory than its length.
func CheckDensity(raw []byte) error {
	if n := bytes.Count(raw, []byte("{")); n > freeObjects+len(raw)/minObject {
		return fmt.Errorf("it has %d objects in %d bytes and is not a manifest", n, len(raw))
	}
	return nil
}

// IsImage reports whether mediaType is the media type of an image manifest.
func IsImage(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == DockerImage
}

// IsIndex reports whether mediaType is the media type of an index.
func IsIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == DockerList
}

// Is reports whether mediaType is the media type of an image manifest or an index, not of a blob.
func Is(mediaType string) bool { return IsImage(mediaType) || IsIndex(mediaType) }

// IsSchema1 reports whether mediaType is a media type of Docker's schema 1.
func IsSchema1(mediaType string) bool { return strings.HasPrefix(mediaType, schema1) }

// TypeOf returns the media type of a manifest. If the manifest has none, as OCI allows, it is an
// index if it lists manifests, otherwise an image. For other text the type is "".
func TypeOf(raw []byte) string {
	var m struct {
		MediaType string          `json:"mediaType"`
		Manifests json.RawMessage `json:"manifests"`
		Config    json.RawMessage `json:"config"`
	}
	switch err := json.Unmarshal(raw, &m); {
	case err != nil:
		return ""
	case m.MediaType != "":
		return m.MediaType
	case m.Manifests != nil:
		return ocispec.MediaTypeImageIndex
	case m.Config != nil:
		return ocispec.MediaTypeImageManifest
	}
	return ""
}
