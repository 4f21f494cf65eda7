// Package snapshot stores a catalog that was read from an image, so that the next run need not read
// the layers again.
//
// A snapshot is one file for one image, identified by the digest of its root. It contains the
// objects of the packages that were read, each package in its own frame, compressed and with a
// checksum; the names of all packages; facts about the image's layers; and, if the catalog was read
// with outlines, the objects from which these are made. A snapshot returns the catalog for given
// [catalog.Options], and reads only the frames that these need. The result is exactly what reading
// the image would return, including positions in files, or the error [ErrNotStored].
//
// A snapshot without some packages is not extended in place: [Write] writes a new one with what was
// read now and the content of the old one.
//
// A snapshot is a cache. Any damage, such as a truncated file, a flipped bit or another version of
// the format, is an error, and the caller reads the image again.
//
// The package does not access the disk: files are an io.Writer and an io.ReaderAt.
package snapshot

import (
	"encoding/json"
	"errors"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// The format: the magic, the frames, the index as JSON, and a footer of footerSize bytes: offset
// and length of the index (64 bits each, big endian), its SHA-256, and the magic again.
const (
	magic      = "gantry\x00\x01" // the last byte is the version
	footerSize = 8 + 8 + 32 + len(magic)
)

// An index lists the content of a snapshot.
type index struct {
	// Root is the digest of the catalog image.
	Root digest.Digest `json:"root"`
	// Complete is set if all packages are stored, including those without an olm.package.
	Complete bool `json:"whole,omitempty"`
	// Names are the names of all packages of the catalog.
	Names []string `json:"names"`
	// Packages are the stored packages, sorted by name.
	Packages []storedPackage `json:"packages"`
	// Others are the objects that belong to no package.
	Others frame `json:"others"`
	// Outlines has the objects for the outlines of all packages that are not stored; nil if the
	// catalog was read without outlines.
	Outlines *frame `json:"outlines,omitempty"`
	// Facts are the facts about the image's layers.
	Facts json.RawMessage `json:"facts"`
}

// A storedPackage is a package whose objects the snapshot contains.
type storedPackage struct {
	Name string `json:"name"`
	frame
}

// A Content is what to write to a snapshot.
type Content struct {
	// Root is the digest of the image.
	Root digest.Digest
	// Catalog is what was read of the image with the Options; it must be unchanged.
	Catalog *catalog.Catalog
	Options catalog.Options
	// Facts are the facts of the image after reading: JSON that the snapshot returns unchanged.
	Facts []byte
	// Before, if not nil, is an older snapshot of the same image. Its content that is not in
	// Catalog is copied.
	Before *Snapshot
}

// ErrNotStored means that a snapshot does not contain everything that is requested.
var ErrNotStored = errors.New("the snapshot does not contain all requested packages")
