package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"

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

// A Base is an image to put a tree on: its manifest or index, and where the rest
// of it is.
type Base struct {
	Content Content
	Root    ocispec.Descriptor
}

// Put writes an image to store, which is base with a tree on top of its layers on
// every platform. What the base itself has in that directory is hidden; no layer
// of it is read, left out or written. Where there are more bases, the image is an
// OCI index of the platforms of all; what several have comes from the first.
func Put(ctx context.Context, store Store, t Tree, base Base, more ...Base) (*Built, error) {
	built, err := put(ctx, store, t, base, more)
	if err != nil {
		return nil, fmt.Errorf("adding %s to image %s: %w", t.By, base.Root.Digest, err)
	}
	return built, nil
}

func put(ctx context.Context, store Store, t Tree, base Base, more []Base) (*Built, error) {
	img, err := openPlatforms(ctx, base.Content, base.Root)
	if err != nil {
		return nil, err
	}
	for _, b := range more {
		other, err := openPlatforms(ctx, b.Content, b.Root)
		if err != nil {
			return nil, fmt.Errorf("joining it with image %s: %w", b.Root.Digest, err)
		}
		if img, err = img.join(other); err != nil {
			return nil, err
		}
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

// join returns an OCI index of the platforms of both images, which nothing is read
// of any more.
func (i *Image) join(other *Image) (*Image, error) {
	all := &Image{root: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: i.root.Digest}, listings: map[digest.Digest]*listing{}}
	for _, p := range slices.Concat(i.platforms, other.platforms) {
		if slices.ContainsFunc(all.platforms, func(o *platform) bool { return o.String() == p.String() }) {
			continue
		}
		line, err := encode(ocispec.Descriptor{
			MediaType: p.desc.MediaType, Digest: p.desc.Digest, Size: p.desc.Size,
			Platform: &ocispec.Platform{OS: p.os, Architecture: p.architecture, Variant: p.variant},
		})
		if err != nil {
			return nil, err
		}
		o, err := decodeObject(line)
		if err != nil {
			return nil, err
		}
		all.platforms, all.children = append(all.platforms, p), append(all.children, child{o, p})
	}
	var err error
	all.index, err = object{"schemaVersion": json.RawMessage("2")}.with("mediaType", all.root.MediaType)
	return all, err
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
