package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// Limits on what a bundle may make a reader hold in memory. OLM itself takes
// bundles of about a megabyte.
const (
	maxBundle      = 64 << 20
	maxBundleFiles = 4096
)

// A bundleTree is a directory of a bundle image.
type bundleTree struct {
	dir  string // in the image, "manifests"
	name string // in what Files returns
}

// Files gives the content of a bundle image: the directories that its labels
// name, as "manifests" and "metadata", held in memory. It is what the layers of
// linux/amd64 (or of the first platform) leave. A bundle of more than 64 MiB or
// 4096 files is an error.
func (i *Image) Files(ctx context.Context) (fs.FS, error) {
	err := i.mustBe(Bundle)
	files := newFiles()
	if err == nil {
		err = i.readTrees(ctx, files)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the bundle in image %s: %w", i.root.Digest, err)
	}
	return files, nil
}

func (i *Image) readTrees(ctx context.Context, files *files) error {
	size := int64(0)
	keep := func(name string, r io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(r, maxBundle-size+1))
		if err != nil {
			return err
		}
		if size += int64(len(data)); size > maxBundle || len(files.data) == maxBundleFiles {
			return fmt.Errorf("the bundle has more than %d bytes or %d files", maxBundle, maxBundleFiles)
		}
		return files.add(name, data)
	}

	p := i.primary()
	v, left := newView(), layers.NewBudget(layers.MaxUnpacked)
	for _, layer := range topDown(p) {
		// All names of the image, since links of a bundle may lead anywhere.
		l := &lister{left: left}
		l.file = func(name string, r io.Reader) error {
			names := i.treeNames(name)
			if len(names) == 0 || !v.shows(name, false) {
				return nil
			}
			if err := keep(names[0], r); err != nil {
				return err
			}
			for _, also := range names[1:] {
				if err := files.add(also, files.data[names[0]]); err != nil {
					return err
				}
			}
			return nil
		}
		found, err := i.list(ctx, p, layer, l, left)
		if err != nil {
			return err
		}
		v.add(layer, found)
	}

	l := links{names: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(v.visible)) {
		if names := i.treeNames(name); len(names) > 0 && v.visible[name].isLink() {
			l.names[name] = names
		}
	}
	if err := i.readLinks(ctx, p, v, l, keep, left); err != nil {
		return err
	}
	if len(files.data) == 0 {
		return fmt.Errorf("there is no file below /%s or /%s, the directories that its labels name", i.trees[0].dir, i.trees[1].dir)
	}
	return nil
}

// treeNames are the names in Files of a name of the image.
func (i *Image) treeNames(name string) []string {
	var names []string
	for _, t := range i.trees {
		if name != t.dir && isBelow(name, t.dir) {
			names = append(names, t.name+name[len(t.dir):])
		}
	}
	return names
}
