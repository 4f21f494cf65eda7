// Package manifest tells the kinds of manifests apart.
//
// A manifest is the JSON that a digest or tag in a registry stands for: that of
// an image, which lists a config and layers, or an index, which lists further
// manifests by platform. Both come in two families with the same fields and
// other media types: OCI's, which the image specification names, and Docker's,
// schema 2, which are named here. Docker's schema 1 has nothing in common with
// them but the name; it is told so that it can be refused.
package manifest

import (
	"encoding/json"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Docker's media types, from the distribution project's image manifest version
// 2, schema 2. The OCI ones are ocispec.MediaTypeImageManifest and
// MediaTypeImageIndex.
const (
	DockerImage = "application/vnd.docker.distribution.manifest.v2+json"
	DockerList  = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// schema1 begins the media types of schema 1, signed and unsigned.
const schema1 = "application/vnd.docker.distribution.manifest.v1"

// MaxSize is how large a manifest may be, in bytes. Registries take 4 MiB and
// more (distribution specification, "Pushing manifests").
const MaxSize = 8 << 20

// IsImage reports whether a media type is that of one image's manifest.
func IsImage(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == DockerImage
}

// IsIndex reports whether a media type is that of an index.
func IsIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == DockerList
}

// Is reports whether a media type is that of a manifest of either kind, and not
// that of a blob.
func Is(mediaType string) bool { return IsImage(mediaType) || IsIndex(mediaType) }

// IsSchema1 reports whether a media type is that of Docker's schema 1.
func IsSchema1(mediaType string) bool { return strings.HasPrefix(mediaType, schema1) }

// TypeOf is the media type that a manifest gives itself. A manifest that leaves it
// out, as OCI allows, is an index where it lists manifests, else an image. Text
// that is no manifest has the type "".
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
