// Package source opens a catalog whatever its location and form.
//
// A name is an image in a registry, an image in an OCI layout (oci://DIR), or a path on the disk
// (dir://PATH). It contains a file-based catalog, an older SQLite database, or a single operator
// bundle; a path may also be the file of a catalog template, which is rendered. [Open] finds out which. A [Source] returns its objects as those of a file-based catalog:
// read into a catalog.Catalog, all packages or some, or streamed one by one.
//
// The package does no I/O of its own: the caller provides images, files and the reader of databases
// ([From]). If From.Snapshots is set, catalogs that were read from images are stored between runs.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	catalogimage "github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/image"
)

// DirScheme is the prefix of names on the disk.
const DirScheme = "dir://"

// From provides what sources read.
type From struct {
	Images image.Reader
	Files  Files
	// Databases reads SQLite indexes. If nil, such indexes are an error.
	Databases Databases
	// Warn, if set, receives what was ignored in a bundle: a sentence with its position.
	Warn func(text string)
	// Snapshots, if set, stores catalogs, so that images are read once.
	Snapshots Snapshots
	// Tags, if set, lists the tags of a repository that does not have the tag of a catalog, so that
	// the error names the nearest.
	Tags Tags
	// CatalogConfig is the file with the catalogs of composite templates. The default is catalogs.yaml
	// beside the template.
	CatalogConfig string
	// Component is the catalog whose components of a composite template are read. It may be empty if
	// the template is for one catalog.
	Component string
}

// Files opens paths on the disk.
type Files interface {
	// Dir opens a folder, or a file as a folder that contains nothing else. What is beside the file
	// and has a name that begins with the file's name and a dash can be opened, but is not listed:
	// the journals of a database.
	Dir(path string) (fs.FS, error)
}

// Databases reads SQLite indexes and calls each once for every object of the equivalent file-based
// catalog.
type Databases interface {
	// Stream reads a database from an image.
	Stream(ctx context.Context, db io.Reader, each func(*catalog.Meta) error) error
	// StreamFile reads a database on the disk, whose journals may be beside it.
	StreamFile(ctx context.Context, fsys fs.FS, name string, each func(*catalog.Meta) error) error
}

// A Kind is the form of a catalog.
type Kind string

// The kinds.
const (
	FileBased Kind = "file-based catalog"
	SQLite    Kind = "SQLite index"
	Bundle    Kind = "bundle"
	Template  Kind = "catalog template"
)

// A Source is an opened catalog. Its kind is known, its content is not read yet.
type Source struct {
	Name string // as passed to Open
	Kind Kind
	// Image is the image that contains the catalog, nil for a path on the disk, and Digest is the
	// digest of the image's root manifest.
	Image  *catalogimage.Image
	Digest digest.Digest

	from From
	fsys fs.FS  // nil for an image
	file string // the database in fsys

	templates *templateSource // of a template
}

// ErrDatabase reports an SQLite index although From.Databases is nil.
var ErrDatabase = errors.New("SQLite indexes are not supported here; use a file-based catalog")

// Open opens a catalog: "quay.io/org/catalog:v1", "oci://DIR[:NAME|@DIGEST]" or "dir://PATH". The
// error for an image that is neither a catalog nor a bundle is catalogimage.ErrNoCatalog.
func Open(ctx context.Context, from From, name string) (*Source, error) {
	s := &Source{Name: name, from: from}
	var err error
	if path, ok := strings.CutPrefix(name, DirScheme); ok {
		err = s.openFiles(path)
	} else {
		err = s.openImage(ctx)
	}
	if err == nil && s.Kind == SQLite && from.Databases == nil {
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
		return s.adviseTag(ctx, err)
	}
	s.Digest = desc.Digest
	if s.Image, err = catalogimage.Open(ctx, s.from.Images, s.Name, desc); err != nil {
		if errors.Is(err, catalogimage.ErrNoCatalog) {
			err = advice.Wrap(advice.KindOf(err), err, "name the image of a catalog; other images are for additionalImages")
		}
		return err
	}
	switch s.Image.Kind() {
	case catalogimage.SQLite:
		s.Kind = SQLite
	case catalogimage.Bundle:
		s.Kind = Bundle
	default:
		s.Kind = FileBased
	}
	return nil
}
