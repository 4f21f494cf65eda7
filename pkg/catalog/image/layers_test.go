package image

import ocispec "github.com/opencontainers/image-spec/specs-go/v1"

// A Layer is one layer of one platform.
type Layer struct {
	Platform   string // os/architecture[/variant]
	Descriptor ocispec.Descriptor
	Verdict    Verdict
}

// Layers returns the layers of all platforms, in the order of the index and then of the manifest.
// Before Read, all of them are Unread.
func (i *Image) Layers() []Layer {
	var layers []Layer
	for _, p := range i.image.Platforms {
		for n, desc := range p.Layers {
			layers = append(layers, Layer{p.String(), desc, verdict(i.listings[p.DiffIDs[n]])})
		}
	}
	return layers
}
