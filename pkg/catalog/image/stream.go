package image

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/layers"
)

// Stream gives every object of the file-based catalog to each: what Read reads,
// in an order that is the same whenever the image is. Memory does not grow with
// the catalog; for that the layers with the catalog are read twice, the first
// time to learn which files count.
//
// An error of each ends it and is in the chain of the error. What is wrong with
// the content of files does not end it: a catalog.Error at the end has that.
func (i *Image) Stream(ctx context.Context, each func(*catalog.Meta) error) error {
	err := i.mustBeFileBased()
	if err == nil {
		err = i.streamFiles(ctx, catalog.NewStreamer(each))
	}
	if err != nil {
		return fmt.Errorf("reading the catalog of image %s: %w", i.root.Digest, err)
	}
	return nil
}

func (i *Image) streamFiles(ctx context.Context, s *catalog.Streamer) error {
	// The first pass reads every .indexignore; the second one everything else.
	first := i.primary()
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
	for _, layer := range topDown(first) {
		if !v.uses(layer) {
			continue
		}
		l := &lister{dir: i.dir, left: left, file: func(name string, r io.Reader) error {
			if p, ok := v.visible[name]; !ok || p.layer != layer {
				return nil
			}
			return file(name[len(i.dir)+1:], r)
		}}
		if _, err := i.list(ctx, first, layer, l, left); err != nil {
			return fmt.Errorf("platform %s: %w", first, err)
		}
	}
	links, err := i.catalogLinks(v)
	if err != nil {
		return err
	}
	if err := i.readLinks(ctx, first, v, links, file, left); err != nil {
		return fmt.Errorf("platform %s: %w", first, err)
	}
	return s.Close()
}

// uses says that a file of the catalog is in a layer.
func (v *view) uses(layer int) bool {
	for _, p := range v.visible {
		if p.kind == regular && p.layer == layer {
			return true
		}
	}
	return false
}
