package registrytest

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
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
	var made []*layer
	for _, files := range layers {
		l, err := layerOf(files)
		if err != nil {
			return nil, err
		}
		made = append(made, l)
	}
	return assemble(p, false, config, made...)
}

// ManifestList returns a Docker manifest list of images for the platforms in their configs.
func ManifestList(images ...v1.Image) (v1.ImageIndex, error) {
	idx := mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	for _, img := range images {
		config, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: child{img}, Descriptor: v1.Descriptor{Platform: config.Platform()}})
	}
	return idx, nil
}
