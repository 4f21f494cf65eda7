// Package recompress finds out how a blob was compressed and compresses content again to exactly
// the same bytes.
//
// A layer is known by the digest of its compressed form, so content that was rebuilt, for example
// from a delta, is useful only if compressing it gives the original bytes. Detect tries the
// compressors that container tools use until one reproduces the blob from the first to the last
// byte, and returns a Recipe. Recipe.NewWriter writes the blob from its content. A recipe is a few
// dozen bytes for usual layers; it keeps what cannot be derived from the content: headers of gzip
// members, the lengths of members, skippable frames of zstd, and trailing bytes.
//
// The output of a compressor is not specified: it changes between versions of Go and of libraries.
// Each compressor at each level therefore has a fingerprint, a hash of its output for a fixed sample.
// A recipe contains the fingerprint with which it was proven, and a program with a different one
// refuses the recipe before it writes anything. Supported lists the fingerprints of this program.
//
// Content and blobs are streams; memory does not depend on their lengths. Recipes are read from
// strangers: Parse is strict and bounded, and a wrong recipe can only produce wrong bytes, which the
// caller notices by their digest.
package recompress

import (
	"errors"
	"fmt"
)

// A Recipe describes how content is compressed to one exact blob. Detect and Parse return recipes.
type Recipe struct {
	compressor  string // one of compressors
	level       int
	size        int    // see sizes; 0 if there is none
	fingerprint string // the hexadecimal form of fingerprintSize bytes; empty for none
	headers     [][]byte
	segments    []segment
}

// A segment is a part of a blob: a compressed member (a gzip member, a zstd frame, or the whole of
// an uncompressed blob), or bytes that are kept as they are.
type segment struct {
	raw    []byte // not nil: these bytes
	header int    // index of the member's gzip header
	length int64  // of the member's content
}

// ErrUnsupported is returned for a recipe that this build of the program cannot follow: the
// compressor is unknown or compresses differently here.
var ErrUnsupported = errors.New("this build of the program cannot reproduce the compression")

// Compressor names the compressor with its level and, if it has one, its block size, for results and
// logs, for example "pgzip level 5, blocks of 1048576 bytes".
func (r *Recipe) Compressor() string {
	return candidate{name: r.compressor, level: r.level, size: r.size}.String()
}

// Requires returns what a program needs to follow the recipe. It can if its Supported contains this
// text.
func (r *Recipe) Requires() string {
	return candidate{name: r.compressor, level: r.level}.requirement(r.fingerprint)
}

// ContentSize returns the length of the uncompressed content.
func (r *Recipe) ContentSize() int64 {
	var n int64
	for _, s := range r.segments {
		n += s.length
	}
	return n
}

// Check returns ErrUnsupported with the reason if this build of the program cannot follow the recipe.
// Checking costs compressing a sample of 256 KiB.
func (r *Recipe) Check() error {
	c, err := r.known()
	if err != nil {
		return err
	}
	return r.compare(c, nil)
}

func (r *Recipe) known() (compressor, error) {
	c, ok := lookup(r.compressor)
	if !ok || !c.accepts(r.level, r.size) {
		return c, fmt.Errorf("%w: it does not know %s", ErrUnsupported, r.Compressor())
	}
	return c, nil
}

// compare compares the fingerprints. It may use e, as fingerprint does.
func (r *Recipe) compare(c compressor, e encoder) error {
	own, err := fingerprint(c, r.level, e)
	if err != nil {
		return err
	}
	if own != r.fingerprint {
		return fmt.Errorf("%w: the recipe needs %s, but this program has the fingerprint %s; it was built with another version of Go or of the compressor's library",
			ErrUnsupported, r.Requires(), own)
	}
	return nil
}
