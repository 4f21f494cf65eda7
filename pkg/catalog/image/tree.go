package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// A Tree is a directory that an image carries, of whatever, in a layer of its
// own.
type Tree struct {
	Dir   string            // below the root, "var/lib/data"
	Files map[string][]byte // by their paths below Dir
	Cmd   []string          // what the image runs, in place of all that it ran
	By    string            // what the history says, "data in /var/lib/data"
}

// Put writes the image that desc names to store, with a tree on top of its layers
// on every platform. What the image itself has in that directory is hidden; no
// layer of it is read, left out or written.
func Put(ctx context.Context, store Store, content Content, desc ocispec.Descriptor, t Tree) (*Built, error) {
	built, err := put(ctx, store, content, desc, t)
	if err != nil {
		return nil, fmt.Errorf("adding %s to image %s: %w", t.By, desc.Digest, err)
	}
	return built, nil
}

func put(ctx context.Context, store Store, source Content, desc ocispec.Descriptor, t Tree) (*Built, error) {
	img, err := openPlatforms(ctx, source, desc)
	if err != nil {
		return nil, err
	}
	if img.dir, err = cleanName(t.Dir); err != nil {
		return nil, err
	}
	files := make(map[string]content, len(t.Files))
	for name, data := range t.Files {
		files[name] = held(data)
	}
	b := &builder{store: store, built: &Built{Directory: "/" + img.dir}, seen: map[digest.Digest]bool{}}
	return b.build(ctx, img, files, func(*platform) change {
		return change{command: command{cmd: t.Cmd}, by: t.By}
	})
}

// held is a file whose content is in memory.
type held []byte

func (h held) Size() int64 { return int64(len(h)) }

func (h held) WriteTo(w io.Writer) (int64, error) { return bytes.NewReader(h).WriteTo(w) }

// Files gives the regular files below a directory to each, by their paths below
// it, as the layers of linux/amd64 (or of the first platform) leave it. Layers are
// read from the top down until one has files there, which is the one that an
// image gets when it is built around a tree. The error is fs.ErrNotExist (by
// errors.Is) where none has.
func Files(ctx context.Context, content Content, desc ocispec.Descriptor, dir string, each func(name string, r io.Reader) error) error {
	if err := walk(ctx, content, desc, dir, each); err != nil {
		return fmt.Errorf("reading /%s in image %s: %w", dir, desc.Digest, err)
	}
	return nil
}

func walk(ctx context.Context, content Content, desc ocispec.Descriptor, dir string, each func(string, io.Reader) error) error {
	img, err := openPlatforms(ctx, content, desc)
	if err != nil {
		return err
	}
	p, above, left := img.primary(), newView(), layers.NewBudget(layers.MaxUnpacked)
	for _, n := range topDown(p) {
		found := false
		l := &lister{dir: dir, left: left, file: func(name string, r io.Reader) error {
			if !above.shows(name, false) {
				return nil
			}
			found = true
			return each(name[len(dir)+1:], r)
		}}
		listing, err := img.list(ctx, p, n, l, left)
		if err != nil {
			return fmt.Errorf("platform %s: %w", p, err)
		}
		if found {
			return nil
		}
		above.add(n, listing)
	}
	return fmt.Errorf("no layer of platform %s has a file there: %w", p, fs.ErrNotExist)
}
