package image

import (
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// Docker's media types of what a manifest lists, from the distribution
// project's image manifest version 2, schema 2.
const (
	dockerConfig = "application/vnd.docker.container.image.v1+json"
	dockerLayer  = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// layerType returns the media type of a gzip layer in a manifest of that family.
func layerType(manifestType string) string {
	if manifestType == manifest.DockerImage {
		return dockerLayer
	}
	return ocispec.MediaTypeImageLayerGzip
}

// isAttestation reports whether a line of an index describes an image and is not one: BuildKit marks
// its attestations with the annotation and the platform.
func isAttestation(desc ocispec.Descriptor) bool {
	if desc.Annotations["vnd.docker.reference.type"] != "" {
		return true
	}
	return desc.Platform != nil && (desc.Platform.OS == "unknown" || desc.Platform.Architecture == "unknown")
}

// readManifest reads a manifest or index. It sets the media type of a descriptor without one.
func (i *Image) readManifest(ctx context.Context, desc *ocispec.Descriptor) (Object, error) {
	if desc.Size > manifest.MaxSize {
		return nil, fmt.Errorf("the manifest has %d bytes, more than the limit of %d", desc.Size, manifest.MaxSize)
	}
	_, data, err := i.reader.Manifest(ctx, i.source, desc.Digest)
	if err != nil {
		return nil, err
	}
	if len(data) > manifest.MaxSize {
		return nil, fmt.Errorf("the manifest has %d bytes, more than the limit of %d", len(data), manifest.MaxSize)
	}
	if err := manifest.CheckDensity(data); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	o, err := DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	var own string
	if err := o.Field("mediaType", &own); err != nil {
		return nil, err
	}
	_, manifests := o["manifests"]
	_, layers := o["layers"]
	switch {
	case manifests && layers:
		// Readers that use the media type and readers that use the fields would see two
		// different images.
		return nil, fmt.Errorf("the manifest has both manifests and layers")
	case own != "" && desc.MediaType != "" && own != desc.MediaType:
		return nil, fmt.Errorf("the manifest has the media type %s, but its descriptor has %s", own, desc.MediaType)
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

// readConfig reads the config of a manifest.
func (i *Image) readConfig(ctx context.Context, desc ocispec.Descriptor) (_ Object, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading config %s: %w", desc.Digest, err)
		}
	}()
	r, err := i.reader.Blob(ctx, i.source, desc, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("it has more than %d bytes, the limit", maxConfig)
	}
	return DecodeObject(data)
}

// isConfig reports whether a manifest's config describes a container.
func isConfig(mediaType string) bool {
	return mediaType == dockerConfig || mediaType == ocispec.MediaTypeImageConfig
}
