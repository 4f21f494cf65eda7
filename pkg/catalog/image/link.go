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
)

// maxLinked is the size of a file that several links may share.
const maxLinked = 128 << 20

// readLinks gives those catalog files to file that are links. Their layers are
// read again: no catalog known has a link, and to hold files for the case would
// cost memory always.
func (i *Image) readLinks(ctx context.Context, p *platform, v *view, file func(string, io.Reader) error, left *budget) error {
	wanted := map[int]map[string][]string{} // layer, path of the content in it, names below the directory
	for _, name := range slices.Sorted(maps.Keys(v.visible)) {
		e := v.visible[name]
		if e.kind == directory || e.kind == regular && e.link == "" {
			continue
		}
		below, err := i.catalogName(name)
		if err != nil {
			return err
		}
		at, target, err := v.follow(name, i.dir)
		if err != nil {
			return err
		}
		if at.link != "" {
			target = at.link
		}
		if wanted[at.layer] == nil {
			wanted[at.layer] = map[string][]string{}
		}
		wanted[at.layer][target] = append(wanted[at.layer][target], below)
	}
	for _, layer := range slices.Sorted(maps.Keys(wanted)) {
		_, err := i.stream(ctx, p.layers[layer], left, func(r io.Reader) error {
			return readLinked(r, wanted[layer], left, file)
		})
		if err != nil {
			return fmt.Errorf("layer %s: %w", p.layers[layer].Digest, err)
		}
	}
	return nil
}

// catalogName is a name as seen from the catalog's directory.
func (i *Image) catalogName(name string) (string, error) {
	if name == i.dir || !isBelow(name, i.dir) {
		return "", fmt.Errorf("/%s, which label %s names, is no directory, or below something that is none", i.dir, ConfigsLabel)
	}
	return name[len(i.dir)+1:], nil
}

// readLinked gives the content of the wanted files of a layer to file, under
// each of the names that stand for it.
func readLinked(r io.Reader, wanted map[string][]string, left *budget, file func(string, io.Reader) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path, err := cleanName(h.Name)
		if err != nil {
			return err
		}
		names := wanted[path]
		if len(names) == 0 || h.Typeflag == tar.TypeDir {
			continue
		}
		if len(names) == 1 {
			if err := file(names[0], left.limit(t)); err != nil {
				return err
			}
			continue
		}
		if h.Size > maxLinked {
			return fmt.Errorf("reading %.200q: it has %d links and more than the %d bytes that are read then", h.Name, len(names), maxLinked)
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
