package image

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// builtBy is the beginning of the line that Build adds to the history of an image.
const builtBy = "gantry: catalog in "

// IsBuilt reports whether the image was made by Build, according to the last line of its history. Its uppermost
// layer has the whole catalog.
func (i *Image) IsBuilt() bool {
	var history []struct {
		CreatedBy string `json:"created_by"`
		Empty     bool   `json:"empty_layer"`
	}
	p := i.image.Primary()
	if p.Config.Field("history", &history) != nil || len(history) == 0 || len(p.Layers) == 0 {
		return false
	}
	last := history[len(history)-1]
	return !last.Empty && strings.HasPrefix(last.CreatedBy, builtBy)
}

// ReadBuilt is Read for an image that IsBuilt. It does not read the layers below, which may have hundreds of
// megabytes, and so Build must not be called with the image.
func (i *Image) ReadBuilt(ctx context.Context, opts catalog.Options) (*catalog.Catalog, error) {
	r := catalog.NewReader(opts)
	p := i.image.Primary()
	l := &image.Lister{Dir: i.dir, Budget: layers.NewBudget(layers.MaxUnpacked), File: func(name string, in io.Reader) error {
		return r.File(name[len(i.dir)+1:], in)
	}}
	_, err := i.image.List(ctx, p, len(p.Layers)-1, l)
	var c *catalog.Catalog
	if err == nil {
		c, err = r.Catalog()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the catalog of image %s: %w", i.image.Root.Digest, err)
	}
	return c, nil
}
