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

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// maxLinked is the size of a file that several links may share.
const maxLinked = 128 << 20

// links are the links whose content is wanted.
type links struct {
	// names are the names that the content is given under, by that of the link.
	names map[string][]string
	// inside is the directory that links may not lead out of.
	inside string
}

// catalogLinks are the links of the catalog.
func (i *Image) catalogLinks(v *view) (links, error) {
	l := links{inside: i.dir, names: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(v.visible)) {
		if !v.visible[name].isLink() {
			continue
		}
		below, err := i.catalogName(name)
		if err != nil {
			return links{}, err
		}
		l.names[name] = []string{below}
	}
	return l, nil
}

// isLink says that the name's content is somewhere else, or nowhere.
func (p place) isLink() bool {
	return p.kind != directory && (p.kind != regular || p.link != "")
}

// readLinks gives the files to file that are links. Their layers are read
// again: no catalog known has a link, and to hold files for the case would cost
// memory always.
func (i *Image) readLinks(ctx context.Context, p *platform, v *view, l links, file func(string, io.Reader) error, left *layers.Budget) error {
	wanted := map[int]map[string][]string{} // layer, path of the content in it, names that are wanted
	for _, name := range slices.Sorted(maps.Keys(l.names)) {
		at, target, err := v.follow(name, l.inside)
		if err != nil {
			return err
		}
		if at.link != "" {
			target = at.link
		}
		if wanted[at.layer] == nil {
			wanted[at.layer] = map[string][]string{}
		}
		wanted[at.layer][target] = append(wanted[at.layer][target], l.names[name]...)
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
		path, err := cleanName(h.Name)
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
