package image

import (
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// Docker's media types of what a manifest lists, from the distribution
// project's image manifest version 2, schema 2.
const (
	dockerConfig = "application/vnd.docker.container.image.v1+json"
	dockerLayer  = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// layerType is the media type of a gzip layer of a manifest of that family.
func layerType(manifestType string) string {
	if manifestType == manifest.DockerImage {
		return dockerLayer
	}
	return ocispec.MediaTypeImageLayerGzip
}

// isAttestation says that a line of an index is about an image and is none:
// BuildKit marks its attestations with the annotation and the platform.
func isAttestation(desc ocispec.Descriptor) bool {
	if desc.Annotations["vnd.docker.reference.type"] != "" {
		return true
	}
	return desc.Platform != nil && (desc.Platform.OS == "unknown" || desc.Platform.Architecture == "unknown")
}

// readManifest reads a manifest or index. It completes the media type of a
// descriptor that has none.
func readManifest(ctx context.Context, content Content, desc *ocispec.Descriptor) (object, error) {
	if desc.Size > manifest.MaxSize {
		return nil, fmt.Errorf("the manifest has %d bytes, more than the %d that are read", desc.Size, manifest.MaxSize)
	}
	data, err := content.Manifest(ctx, *desc)
	if err != nil {
		return nil, err
	}
	if len(data) > manifest.MaxSize {
		return nil, fmt.Errorf("the manifest has %d bytes, more than the %d that are read", len(data), manifest.MaxSize)
	}
	o, err := decodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	var own string
	if err := o.field("mediaType", &own); err != nil {
		return nil, err
	}
	_, manifests := o["manifests"]
	_, layers := o["layers"]
	switch {
	case manifests && layers:
		// Readers that go by the media type and readers that go by the fields
		// would see two different images.
		return nil, fmt.Errorf("the manifest names both manifests and layers")
	case own != "" && desc.MediaType != "" && own != desc.MediaType:
		return nil, fmt.Errorf("the manifest says that it is %s, but is named as %s", own, desc.MediaType)
	case desc.MediaType != "":
	case own != "":
		desc.MediaType = own
	case manifests:
		desc.MediaType = ocispec.MediaTypeImageIndex
	case layers:
		desc.MediaType = ocispec.MediaTypeImageManifest
	}
	return o, nil
}

// readConfig reads the config that a manifest names.
func readConfig(ctx context.Context, content Content, desc ocispec.Descriptor) (_ object, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading config %s: %w", desc.Digest, err)
		}
	}()
	r, err := content.Blob(ctx, desc)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("it has more than the %d bytes that are read", maxConfig)
	}
	return decodeObject(data)
}

// isConfig says that a manifest's config describes a container.
func isConfig(mediaType string) bool {
	return mediaType == dockerConfig || mediaType == ocispec.MediaTypeImageConfig
}
