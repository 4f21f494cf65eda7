package manifest

import (
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A Format is a family of media types for images: manifests, indexes, configs and layers.
type Format string

// The formats. The media types of Docker are from the distribution project's image manifest version 2,
// schema 2 (https://distribution.github.io/distribution/spec/manifest-v2-2/).
const (
	OCI    Format = "oci"
	Docker Format = "docker"
)

// Formats returns the formats, sorted.
func Formats() []string { return []string{string(Docker), string(OCI)} }

// equivalents are the media types that exist in both formats, first the one of Docker. Of types that OCI
// defines, only layers compressed with zstd have no equivalent.
var equivalents = [...][2]string{
	{DockerImage, ocispec.MediaTypeImageManifest},
	{DockerList, ocispec.MediaTypeImageIndex},
	{DockerConfig, ocispec.MediaTypeImageConfig},
	{DockerLayer, ocispec.MediaTypeImageLayerGzip},
	{"application/vnd.docker.image.rootfs.diff.tar", ocispec.MediaTypeImageLayer},
	{"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"},
	{"application/vnd.docker.image.rootfs.foreign.diff.tar", "application/vnd.oci.image.layer.nondistributable.v1.tar"},
}

// Equivalent returns the media type in the format that means the same as a media type of either format.
// ok is false if there is none.
func (f Format) Equivalent(mediaType string) (same string, ok bool) {
	for _, pair := range equivalents {
		if mediaType == pair[0] || mediaType == pair[1] {
			if f == Docker {
				return pair[0], true
			}
			return pair[1], true
		}
	}
	return "", false
}

// Refuses reports whether a registry that knows only this format refuses a media type, in a manifest or
// of one. Types that neither format defines are not refused for that.
func (f Format) Refuses(mediaType string) bool {
	if f == Docker {
		return strings.HasPrefix(mediaType, "application/vnd.oci.")
	}
	same, ok := f.Equivalent(mediaType)
	return ok && same != mediaType
}
