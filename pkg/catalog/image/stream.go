package image

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// Stream calls each with every object of the file-based catalog that Read reads, in an order that
// depends only on the image. Memory does not grow with the catalog: the layers with the catalog are read
// twice, the first time to find the visible files.
//
// An error of each ends it and is wrapped. Invalid content of files does not end it: it is in a
// catalog.Error at the end.
func (i *Image) Stream(ctx context.Context, each func(*catalog.Meta) error) error {
	err := i.mustBeFileBased()
	if err == nil {
		err = i.streamFiles(ctx, catalog.NewStreamer(each))
	}
	if err != nil {
		return fmt.Errorf("reading the catalog of image %s: %w", i.image.Root.Digest, err)
	}
	return nil
}

func (i *Image) streamFiles(ctx context.Context, s *catalog.Streamer) error {
	// The first pass reads every .indexignore; the second one everything else.
	first := i.image.Primary()
	v, err := i.survey(ctx, func(name string, r io.Reader) error {
		if path.Base(name) != catalog.IgnoreFile {
			return nil
		}
		return s.File(name, r)
	}, layers.MaxUnpacked)
	if err != nil {
		return err
	}
	file := func(name string, r io.Reader) error {
		if path.Base(name) == catalog.IgnoreFile {
			return nil
		}
		return s.File(name, r)
	}
	left := layers.NewBudget(layers.MaxUnpacked)
	for _, layer := range first.TopDown() {
		if !v.Uses(layer) {
			continue
		}
		l := &image.Lister{Dir: i.dir, Budget: left, File: func(name string, r io.Reader) error {
			if !v.InLayer(name, layer) {
				return nil
			}
			return file(name[len(i.dir)+1:], r)
		}}
		if _, err := i.image.List(ctx, first, layer, l); err != nil {
			return fmt.Errorf("platform %s: %w", first, err)
		}
	}
	if err := i.readCatalogLinks(ctx, v, file, left); err != nil {
		return fmt.Errorf("platform %s: %w", first, err)
	}
	return s.Close()
}
