// Package delta writes the content of a layer as its difference from other layers, and rebuilds it from them.
//
// A delta is made for one blob, the target, against up to MaxBases other blobs, the bases. The package works on uncompressed content: the caller
// decompresses blobs, and compresses the result again with pkg/delta/recompress, whose recipe a delta carries as opaque bytes.
//
// Layers are tar files. Encode pairs each member of the target with a member of a base: the same path, the same content, or a similar path (version
// numbers, hashes in names, the same name in another folder). An unchanged member is one copy, however large. A changed member is compared byte by
// byte: exact matches are found through an index of the base, extended in both directions while more bytes agree than disagree, and only the bytes
// that differ are stored. That is what makes deltas of programs small: code that moved has the same bytes except for addresses. A changed address is
// predicted from earlier ones, see predict.go. Content that is not a tar file is one member.
//
// Files in layers have compressed parts: the entries of jars, and the debugging information of Go programs. Encode finds them in changed members with
// package packed, and compares what they unpack to. Decode unpacks the same parts of the bases, and compresses those of the target to the same bytes.
//
// Memory does not depend on the size of content: both sides are io.ReaderAt, usually temporary files, and work is done in pieces of less than a megabyte.
// The same input and effort give the same bytes, whatever the number of workers.
//
// ReadHeader and Decode read deltas from strangers. Every length is limited before memory is allocated, Decode writes exactly as many bytes as the
// header announces, and compares them with the checksum in the header. docs/archive-format.md describes the format.
package delta

import (
	"errors"
	"io"
	"time"

	"github.com/opencontainers/go-digest"
)

// Limits of a delta.
const (
	MaxBases  = 16      // bases of one delta
	MaxRecipe = 1 << 20 // bytes of a recipe
)

// ErrTooCostly is returned by Encode if Options.Budget refused to go on.
var ErrTooCostly = errors.New("the delta is too costly")

// Base is a blob that the reader of a delta has.
type Base struct {
	Digest  digest.Digest // of the blob
	Content io.ReaderAt   // uncompressed
	Size    int64         // of Content
}

// Target is the blob that a delta describes.
type Target struct {
	Digest      digest.Digest // of the blob
	Size        int64         // of the blob
	Content     io.ReaderAt   // uncompressed
	ContentSize int64
	Recipe      []byte // how Content becomes the blob; opaque, at most MaxRecipe
}

// Effort is how much time Encode spends on small deltas.
type Effort int

// Efforts. The zero value is Auto.
const (
	Auto Effort = iota
	Max
)

// Options of Encode. The zero value is Auto with one worker per core.
type Options struct {
	Effort  Effort
	Version int // of the format, Plain or Solid; 0 is Plain
	Workers int // 0: one per core, as far as memory allows

	// Memory, if not nil, is used and kept for the next call.
	Memory *Memory
	// Temp is the folder for a temporary file with what compressed parts of members unpack to; "" is the one of the system.
	Temp string
	// Compressors reports whether the reader reproduces a compressor, as recompress.Supported lists it. Nil accepts those of this program.
	Compressors func(requires string) bool

	// Budget, if not nil, is called from one goroutine at a time: after each piece of the target with the time that all workers spent, the bytes of the
	// target that are done and the bytes of the delta so far; and before that with zeros, after each compressed part that was examined. If it returns
	// false, Encode ends with ErrTooCostly.
	Budget func(spent time.Duration, targetDone, deltaSoFar int64) bool
}

// Stats describes a delta that was written. Bytes are of uncompressed content, with its compressed parts unpacked.
type Stats struct {
	Size     int64 // of the delta
	Matched  int64 // bytes copied from bases, with or without differences
	Changed  int64 // bytes of Matched that differ
	Inserted int64 // bytes that are in no base
	Members  MemberStats
	Unpacked int           // compressed parts of the target that were compared unpacked
	Requires []string      // what the reader has to reproduce for that, as recompress.Supported lists it
	Time     time.Duration // spent by all workers
}

// MemberStats counts the target's members by their match in the bases.
type MemberStats struct {
	Unchanged int // same path, same content
	SamePath  int // same path, other content
	Moved     int // other path, same content
	Similar   int // similar path, other content
	New       int // no match
}
