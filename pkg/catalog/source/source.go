// Package source opens a catalog wherever it is and whatever form it has.
//
// What is named may be an image in a registry, an image in an OCI layout
// (oci://DIR), or something on the disk (dir://PATH); in it may be a file-based
// catalog, an SQLite database of the time before those, or a single operator
// bundle. Open finds out which, and a Source gives its objects in the one form
// that the rest of the house knows: read into a catalog.Catalog, of which only
// some packages may be kept, or streamed one by one.
//
// Nothing here touches network or disk: images, files and the reader of
// databases are given by the caller (From).
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
)

// DirScheme begins the names of what lies on the disk.
const DirScheme = "dir://"

// From is where catalogs are read.
type From struct {
	Images Images
	Files  Files
	// Database reads an SQLite index and gives its objects as those of a
	// file-based catalog, each once. nil refuses such indexes.
	Database func(ctx context.Context, db io.Reader, each func(*catalog.Meta) error) error
	// Warn, where set, is told what was passed over in a bundle: a sentence with
	// its place.
	Warn func(text string)
	// Snapshots, where set, spares the reading of images that were read before.
	Snapshots Snapshots
}

// Images reads images where they are, by name in full; what it returns has been
// compared with its digest.
type Images interface {
	// Manifest returns the manifest d of the source's repository, or, where d is
	// empty, the one that source itself names.
	Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error)
	Blob(ctx context.Context, source string, desc ocispec.Descriptor) (io.ReadCloser, error)
}

// Files opens what lies on the disk.
type Files interface {
	// Dir opens a folder, or a file as a folder that holds nothing else.
	Dir(path string) (fs.FS, error)
}

// A Kind is the form that a catalog has where it is.
type Kind string

// The kinds.
const (
	FileBased Kind = "file-based catalog"
	SQLite    Kind = "SQLite index"
	Bundle    Kind = "bundle"
)

// A Source is a catalog that was opened: what it is is known, its content not
// yet.
type Source struct {
	Name string // as it was asked for
	Kind Kind
	// Image is the image that the catalog is in, nil for what lies on the disk,
	// and Digest that of the image's root manifest.
	Image  *image.Image
	Digest digest.Digest

	from From
	fsys fs.FS  // nil for an image
	file string // the database in fsys
}

// ErrDatabase says that a catalog is an SQLite index where none can be read.
var ErrDatabase = errors.New("it is an SQLite index, which cannot be read here: use a file-based catalog")

// Open opens a catalog: "quay.io/org/catalog:v1", "oci://DIR[:NAME|@DIGEST]" or
// "dir://PATH". An image that is neither catalog nor bundle is image.ErrNoCatalog.
func Open(ctx context.Context, from From, name string) (*Source, error) {
	s := &Source{Name: name, from: from}
	var err error
	if path, ok := strings.CutPrefix(name, DirScheme); ok {
		err = s.openFiles(path)
	} else {
		err = s.openImage(ctx)
	}
	if err == nil && s.Kind == SQLite && from.Database == nil {
		err = ErrDatabase
	}
	if err != nil {
		return nil, fmt.Errorf("opening catalog %s: %w", name, err)
	}
	return s, nil
}

func (s *Source) openImage(ctx context.Context) error {
	desc, _, err := s.from.Images.Manifest(ctx, s.Name, "")
	if err != nil {
		return err
	}
	s.Digest = desc.Digest
	if s.Image, err = image.Open(ctx, Content(s.from.Images, s.Name), desc); err != nil {
		return err
	}
	switch s.Image.Kind() {
	case image.SQLite:
		s.Kind = SQLite
	case image.Bundle:
		s.Kind = Bundle
	default:
		s.Kind = FileBased
	}
	return nil
}

// Content is one image of an Images, as package image wants it.
func Content(images Images, name string) image.Content { return content{images, name} }

type content struct {
	images Images
	name   string
}

func (c content) Manifest(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
	_, raw, err := c.images.Manifest(ctx, c.name, desc.Digest)
	return raw, err
}

func (c content) Blob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return c.images.Blob(ctx, c.name, desc)
}
