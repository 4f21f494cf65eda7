package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// A Tree is a directory of files that is added to an image as a layer.
type Tree struct {
	Dir   string            // below the root, "var/lib/data"
	Files map[string][]byte // by their paths below Dir
	Cmd   []string          // what the image runs, instead of what it ran before
	By    string            // what the history says, "data in /var/lib/data"
}

// AddTree writes an image to store that is base with a tree on top of the layers of every platform. It
// hides what the base itself has in that directory; it does not read, drop or write any layer of the
// base. With more bases, the image is an OCI index of the platforms of all; a platform that several
// have comes from the first.
func AddTree(ctx context.Context, store Store, t Tree, base *Image, more ...*Image) (*Built, error) {
	built, err := addTree(ctx, store, t, base, more)
	if err != nil {
		return nil, fmt.Errorf("adding %s to image %s: %w", t.By, base.Root.Digest, err)
	}
	return built, nil
}

func addTree(ctx context.Context, store Store, t Tree, img *Image, more []*Image) (*Built, error) {
	var err error
	for _, other := range more {
		if img, err = img.join(other); err != nil {
			return nil, err
		}
	}
	dir, err := CleanPath(t.Dir)
	if err != nil {
		return nil, err
	}
	l := NewLayer()
	l.AddDirectory(dir, nil)
	for name, data := range t.Files {
		if err := l.AddFile(dir, name, bytesFile(data)); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(img.Platforms, func(p *Platform) bool { return len(p.Layers) > 0 }) {
		l.Hide(dir)
	}
	return img.Rebuild(ctx, store, l, func(*Platform) Change {
		return Change{Command: Command{Cmd: t.Cmd}, By: t.By}
	})
}

// bytesFile is a file in memory.
type bytesFile []byte

func (f bytesFile) Size() int64 { return int64(len(f)) }

func (f bytesFile) WriteTo(w io.Writer) (int64, error) { return bytes.NewReader(f).WriteTo(w) }

// ReadTree calls each with the regular files below a directory of the primary platform, by their paths
// below it. It reads layers from the top down until one has files there, which is the one that AddTree
// adds. The error matches fs.ErrNotExist if no layer has any.
func ReadTree(ctx context.Context, img *Image, dir string, each func(name string, r io.Reader) error) error {
	if err := img.readTree(ctx, dir, each); err != nil {
		return fmt.Errorf("reading /%s in image %s: %w", dir, img.Root.Digest, err)
	}
	return nil
}

func (i *Image) readTree(ctx context.Context, dir string, each func(string, io.Reader) error) error {
	p, above, left := i.Primary(), NewView(), layers.NewBudget(layers.MaxUnpacked)
	for _, n := range p.TopDown() {
		found := false
		l := &Lister{Dir: dir, Budget: left, File: func(name string, r io.Reader) error {
			if !above.Shows(name) {
				return nil
			}
			found = true
			return each(name[len(dir)+1:], r)
		}}
		listing, err := i.List(ctx, p, n, l)
		if err != nil {
			return fmt.Errorf("platform %s: %w", p, err)
		}
		if found {
			return nil
		}
		above.Add(n, listing)
	}
	return fmt.Errorf("no layer of platform %s has a file there: %w", p, fs.ErrNotExist)
}
