package image

import (
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

// verdict returns the verdict about a listing.
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
