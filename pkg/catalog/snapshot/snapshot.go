// Package snapshot keeps a catalog that was read out of an image, so that the
// next run need not read the layers again.
//
// A snapshot is one file for one image, known by the digest of its root. It has
// the objects of those packages that were read, each package in a frame of its
// own, compressed and with a checksum; the names of all packages; what the image
// is known to have in its layers; and, if the catalog was read with outlines,
// the objects that those are made of. A snapshot is asked for the catalog that
// [catalog.Options] describe, and reads no other frames than these need. It
// either gives exactly what reading the image would give, places in files
// included, or says that it cannot ([ErrNotHeld]).
//
// A snapshot that lacks packages is not extended in place: [Write] writes a new
// one with what was read now and what the old one had.
//
// The file is nobody's only copy of anything. Whatever is wrong with one, a cut
// end, a flipped bit, another version of this format, is an error, and the
// remedy is always to read the image.
//
// Nothing here touches the disk: files are an io.Writer and an io.ReaderAt.
package snapshot

import (
	"encoding/json"
	"errors"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// The format. A file is the magic, the frames, the index as JSON, and a footer
// of footerSize bytes: where the index begins and how long it is (64 bits each,
// big endian), its SHA-256, and the magic again.
const (
	magic      = "gantry\x00\x01" // the last byte is the version
	footerSize = 8 + 8 + 32 + len(magic)
)

// An index says what a snapshot has.
type index struct {
	// Root is the digest of the image that the catalog is from.
	Root digest.Digest `json:"root"`
	// Whole says that all packages are held, those without an olm.package too.
	Whole bool `json:"whole,omitempty"`
	// Names are those of all packages of the catalog.
	Names []string `json:"names"`
	// Packages are the packages that are held, sorted by name.
	Packages []held `json:"packages"`
	// Others are the objects that belong to no package.
	Others frame `json:"others"`
	// Outlines are the objects that the outlines of all packages are made of
	// that are not held; nil if the catalog was read without.
	Outlines *frame `json:"outlines,omitempty"`
	// Facts are what is known of the image's layers.
	Facts json.RawMessage `json:"facts"`
}

// A held package is one whose objects the snapshot has.
type held struct {
	Name string `json:"name"`
	frame
}

// A Content is what a snapshot is made of.
type Content struct {
	// Root is the digest of the image.
	Root digest.Digest
	// Catalog is what was read of it, with the Options; it must be the
	// reader's, not one that was changed.
	Catalog *catalog.Catalog
	Options catalog.Options
	// Facts are those of the image, which was read: JSON that the snapshot
	// gives back as it is.
	Facts []byte
	// Before, if not nil, is an older snapshot of the same image. What it holds
	// and Catalog does not is copied.
	Before *Snapshot
}

// ErrNotHeld says that a snapshot lacks something that is wanted.
var ErrNotHeld = errors.New("the snapshot does not hold all packages that are wanted")
