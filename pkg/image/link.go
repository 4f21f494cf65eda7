package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// maxLinked is the maximum size of a file that several links share.
const maxLinked = 128 << 20

// Links are symbolic and hard links whose content is wanted.
type Links struct {
	// Names are the names under which the content is passed on, by the path of the link.
	Names map[string][]string
	// Inside is the directory that the view has, "" for the root. A link to a file elsewhere is
	// ErrOutside.
	Inside string
}

// View lists all layers of a platform and returns the view of the whole image.
func (i *Image) View(ctx context.Context, p *Platform, left *layers.Budget) (*View, error) {
	v := NewView()
	for _, layer := range p.TopDown() {
		found, err := i.List(ctx, p, layer, &Lister{Budget: left})
		if err != nil {
			return nil, err
		}
		v.Add(layer, found)
	}
	return v, nil
}

// ReadLinks calls file with the content of links. No content was passed on if the error is
// ErrOutside. It reads their layers again: links are rare, and to
// keep files in memory for them would always cost.
func (i *Image) ReadLinks(ctx context.Context, p *Platform, v *View, l Links, file func(string, io.Reader) error, left *layers.Budget) error {
	wanted := map[int]map[string][]string{} // layer, path of the content in it, names that are wanted
	for _, name := range slices.Sorted(maps.Keys(l.Names)) {
		at, target, err := v.follow(name, l.Inside)
		if err != nil {
			return err
		}
		if at.link != "" {
			target = at.link
		}
		if wanted[at.layer] == nil {
			wanted[at.layer] = map[string][]string{}
		}
		wanted[at.layer][target] = append(wanted[at.layer][target], l.Names[name]...)
	}
	for _, layer := range slices.Sorted(maps.Keys(wanted)) {
		_, err := i.stream(ctx, p.Layers[layer], left, func(r io.Reader) error {
			return readLinked(r, wanted[layer], left, file)
		})
		if err != nil {
			return fmt.Errorf("layer %s: %w", p.Layers[layer].Digest, err)
		}
	}
	return nil
}

// readLinked calls file with the content of the wanted files of a layer, once for each name.
func readLinked(r io.Reader, wanted map[string][]string, left *layers.Budget, file func(string, io.Reader) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path, err := CleanPath(h.Name)
		if err != nil {
			return err
		}
		names := wanted[path]
		if len(names) == 0 || h.Typeflag == tar.TypeDir {
			continue
		}
		if len(names) == 1 {
			if err := file(names[0], left.Limit(t)); err != nil {
				return err
			}
			continue
		}
		if h.Size > maxLinked {
			return fmt.Errorf("reading %.200q: it has %d links and more than %d bytes, the limit for linked files", h.Name, len(names), maxLinked)
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := file(name, bytes.NewReader(data)); err != nil {
				return err
			}
		}
	}
}
