package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// Limits on the memory that a bundle can use. OLM itself accepts bundles of about a megabyte.
const (
	maxBundle      = 64 << 20
	maxBundleFiles = 4096
)

// A bundleTree is a directory of a bundle image.
type bundleTree struct {
	dir  string // in the image, "manifests"
	name string // in the result of Files
}

// Files returns the content of a bundle image: the directories in its labels, as "manifests" and
// "metadata", in memory. It is what the layers of linux/amd64 (or of the first platform) leave. A bundle
// of more than 64 MiB or 4096 files is an error.
func (i *Image) Files(ctx context.Context) (fs.FS, error) {
	err := i.mustBe(Bundle)
	files := newFiles()
	if err == nil {
		err = i.readTrees(ctx, files)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the bundle in image %s: %w", i.image.Root.Digest, err)
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

	p := i.image.Primary()
	v, left := image.NewView(), layers.NewBudget(layers.MaxUnpacked)
	for _, layer := range p.TopDown() {
		// All names of the image, since the links of a bundle can point anywhere.
		l := &image.Lister{Budget: left}
		l.File = func(name string, r io.Reader) error {
			names := i.treeNames(name)
			if len(names) == 0 || !v.Shows(name) {
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
		found, err := i.image.List(ctx, p, layer, l)
		if err != nil {
			return err
		}
		v.Add(layer, found)
	}

	l := image.Links{Names: map[string][]string{}}
	for _, name := range v.Links() {
		if names := i.treeNames(name); len(names) > 0 {
			l.Names[name] = names
		}
	}
	for _, t := range i.trees {
		if !v.Linked(t.dir) {
			continue
		}
		dir, err := v.Directory(t.dir)
		if err != nil {
			return fmt.Errorf("/%s, the directory of the %s: %w", t.dir, t.name, err)
		}
		for _, name := range v.Below(dir) {
			l.Names[name] = append(l.Names[name], path.Join(t.name, name[len(dir):]))
		}
	}
	if err := i.image.ReadLinks(ctx, p, v, l, keep, left); err != nil {
		return err
	}
	if len(files.data) == 0 {
		return fmt.Errorf("there is no file below /%s or /%s, the directories in its labels", i.trees[0].dir, i.trees[1].dir)
	}
	return nil
}

// treeNames returns the names in Files of a name in the image.
func (i *Image) treeNames(name string) []string {
	var names []string
	for _, t := range i.trees {
		if name != t.dir && image.IsBelow(name, t.dir) {
			names = append(names, t.name+name[len(t.dir):])
		}
	}
	return names
}
