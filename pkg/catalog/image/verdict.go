package image

import (
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// A Verdict is what a layer contains, by its tar headers.
type Verdict int

// The verdicts. Build drops the layers that are CatalogOnly and keeps all
// others.
const (
	// Unread is a layer that was not read.
	Unread Verdict = iota
	// Other is a layer with nothing of the catalog or its cache.
	Other
	// Mixed is a layer with something of the catalog or its cache and
	// something else.
	Mixed
	// CatalogOnly is a layer with nothing but the catalog or its cache.
	CatalogOnly
)

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v {
	case Unread:
		return "unread"
	case Other:
		return "other"
	case Mixed:
		return "mixed"
	case CatalogOnly:
		return "catalog only"
	}
	return "unknown"
}

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

func verdict(found *image.Listing) Verdict {
	switch {
	case found == nil:
		return Unread
	case len(found.Touches) == 0:
		return Other
	case found.Elsewhere:
		return Mixed
	}
	return CatalogOnly
}
