package image

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// Directory returns the directory of the file-based catalog, "/configs", or "".
func (i *Image) Directory() string {
	if i.kind != FileBased {
		return ""
	}
	return "/" + i.dir
}

// BinaryLess reports whether the image has no program for at least one of its platforms. A
// CatalogSource then needs grpcPodConfig.extractContent.
func (i *Image) BinaryLess() bool {
	return slices.ContainsFunc(i.image.Platforms, func(p *image.Platform) bool { return len(command(p.Command).argv()) == 0 })
}
