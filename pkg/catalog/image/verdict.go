package image

import (
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A Verdict says what a layer holds, by its tar headers.
type Verdict int

// The verdicts. Build drops the layers that are CatalogOnly and keeps all
// others.
const (
	// Unread is a layer whose headers nobody has looked at.
	Unread Verdict = iota
	// Other is a layer without anything of the catalog or its cache.
	Other
	// Mixed is a layer with something of the catalog or its cache and
	// something else.
	Mixed
	// CatalogOnly is a layer with nothing but the catalog or its cache.
	CatalogOnly
)

// String is the verdict in words.
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

// Layers are the layers of all platforms, in the order of the index and then
// of the manifest. Before Read all of them are Unread.
func (i *Image) Layers() []Layer {
	var layers []Layer
	for _, p := range i.platforms {
		for n, desc := range p.layers {
			layers = append(layers, Layer{p.String(), desc, i.listings[p.diffIDs[n]].verdict()})
		}
	}
	return layers
}

func (found *listing) verdict() Verdict {
	switch {
	case found == nil:
		return Unread
	case len(found.touches) == 0:
		return Other
	case found.more:
		return Mixed
	}
	return CatalogOnly
}
