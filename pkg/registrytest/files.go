package registrytest

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A File is an entry of a layer. If the name ends in a slash, it is a folder.
type File struct {
	Name string
	Data []byte
	Mode int64 // 0 is 0644, or 0755 for a folder
}

// FilesImage returns a Docker image for a platform. Each layer contains only these files, in this
// order; the lowest layer comes first.
func FilesImage(p v1.Platform, config v1.Config, layers ...[]File) (v1.Image, error) {
	made := elements.Map(layers, layerOf)
	return assemble(p, false, config, made...)
}
