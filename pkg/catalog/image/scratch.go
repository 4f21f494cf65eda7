package image

import (
	"context"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/image"
)

// scratchDir is the directory of the catalog in an image without a source image.
const scratchDir = "configs"

// Scratch writes an image to store that has catalog c in /configs and nothing else: an OCI index for
// the Linux platforms of OpenShift, which share the one layer.
func Scratch(ctx context.Context, store image.Store, c *catalog.Catalog) (*Built, error) {
	files, err := filesOf(c)
	if err != nil {
		return nil, fmt.Errorf("building a catalog image: %w", err)
	}
	built, err := scratch(ctx, store, files)
	if err != nil {
		return nil, fmt.Errorf("building a catalog image: %w", err)
	}
	return built, nil
}

func scratch(ctx context.Context, store image.Store, files map[string]image.File) (*Built, error) {
	l := image.NewLayer()
	l.AddDirectory(scratchDir, nil)
	for name, f := range files {
		if err := l.AddFile(scratchDir, name, f); err != nil {
			return nil, err
		}
	}
	var platforms []ocispec.Platform
	for _, architecture := range []string{"amd64", "arm64", "ppc64le", "s390x"} {
		platforms = append(platforms, ocispec.Platform{OS: "linux", Architecture: architecture})
	}
	config := ocispec.ImageConfig{Labels: map[string]string{ConfigsLabel: "/" + scratchDir}}
	built, err := image.Scratch(ctx, store, l, config, platforms)
	if err != nil {
		return nil, err
	}
	return &Built{Built: *built, Directory: "/" + scratchDir, BinaryLess: true}, nil
}
