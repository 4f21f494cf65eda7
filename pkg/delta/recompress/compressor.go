package recompress

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
)

// A format is how members are framed.
type format int

const (
	uncompressed format = iota
	gzipFormat          // members with a header, a deflate stream, checksum and length
	zstdFormat          // frames
)

// An encoder compresses the content of one member after the other. For gzip, it writes deflate
// streams without the header and trailer. Reset begins a member; what an unfinished member left is
// discarded.
type encoder interface {
	io.Writer
	Close() error
	Reset(w io.Writer)
}

// A compressor is a program or library whose output can be reproduced.
type compressor struct {
	name   string
	format format
	levels []int // the likely ones first
	size   *sizes
	unix   bool // what uses it writes the header of Unix programs: no Go
	open   func(level, size int) (encoder, error)
}

// sizes are those of the blocks that a compressor compresses independently of each other, or of the
// parts in which a program passes content to it, if they have an effect.
type sizes struct {
	what   string
	usual  []int // the likely ones first
	min    int
	marked bool // each block ends with a sync flush
	// rare means that the size seldom has an effect: 0, no parts, is tried first, and the usual sizes
	// only if the output differs late.
	rare bool
}

const maxBlockSize = 16 << 20

// compressors returns all compressors, in the order in which they are tried if nothing points to one
// of them.
func compressors() []compressor {
	// Versions of pgzip before 1.2.2 had blocks of 250 KiB. It accepts no blocks below the minimum.
	pgzipBlocks := &sizes{what: "blocks", usual: []int{1 << 20, 250 << 10}, min: 1<<14 + 1, marked: true}
	pigzBlocks := &sizes{what: "blocks", usual: []int{128 << 10}, min: 32 << 10}
	// What Python, tar programs and Java pass to zlib at once.
	writes := &sizes{what: "writes", usual: []int{32 << 10, 10 << 10, 8 << 10, 16 << 10, 64 << 10, 128 << 10}, min: 1 << 10, rare: true}
	goLevels, zlibLevels := []int{6, 1, 9, 5, 4, 3, 2, 7, 8, 0, -2}, []int{6, 9, 1, 5, 4, 3, 2, 7, 8}
	klauspostLevels := []int{5, 6, 1, 9, 4, 3, 2, 7, 8, 0, -2}
	return []compressor{
		{name: "none", format: uncompressed, levels: []int{0}, open: openNone},
		// compress/gzip of Go: docker, buildkit, containerd, ko, crane, kaniko. Its default is level 6.
		{name: "go-gzip", format: gzipFormat, levels: goLevels, open: openGoDeflate},
		// klauspost/pgzip: buildah, podman, skopeo. Its default is level 5.
		{name: "pgzip", format: gzipFormat, levels: klauspostLevels, size: pgzipBlocks, open: openPgzip},
		// klauspost/compress/gzip. Its default is level 5.
		{name: "klauspost-gzip", format: gzipFormat, levels: klauspostLevels, open: openKlauspostDeflate},
		// zlib: Python, Java (jib), bsdtar. GNU gzip: tar, scripts. pigz: docker for uncompressed content
		// of other programs, bazel.
		{name: "zlib", format: gzipFormat, levels: append(zlibLevels, 0), size: writes, unix: true, open: openZlib(zlib.Options{})},
		{name: "gnu-gzip", format: gzipFormat, levels: zlibLevels, unix: true, open: openZlib(zlib.Options{Program: zlib.Gzip})},
		{name: "pigz", format: gzipFormat, levels: zlibLevels, size: pigzBlocks, unix: true, open: openZlib(zlib.Options{Program: zlib.Pigz})},
		{name: "pigz-sequential", format: gzipFormat, levels: zlibLevels, size: pigzBlocks, unix: true, open: openZlib(zlib.Options{Program: zlib.Pigz, Sequential: true})},
		{name: "pigz-independent", format: gzipFormat, levels: zlibLevels, size: pigzBlocks, unix: true, open: openZlib(zlib.Options{Program: zlib.Pigz, Independent: true})},
		{name: "zlib-memory9", format: gzipFormat, levels: zlibLevels, size: writes, unix: true, open: openZlib(zlib.Options{MemoryLevel: 9})},
		// klauspost/compress/zstd: buildah, podman, buildkit, containerd. The levels are SpeedFastest
		// to SpeedBestCompression.
		{name: "klauspost-zstd", format: zstdFormat, levels: []int{2, 1, 3, 4}, open: openZstd},
	}
}

func lookup(name string) (compressor, bool) {
	all := compressors()
	i := slices.IndexFunc(all, func(c compressor) bool { return c.name == name })
	if i < 0 {
		return compressor{}, false
	}
	return all[i], true
}

func (c compressor) accepts(level, size int) bool {
	if !slices.Contains(c.levels, level) {
		return false
	}
	if c.size == nil || size == 0 {
		return size == 0 && (c.size == nil || c.size.rare)
	}
	return size >= c.size.min && size <= maxBlockSize
}

// A candidate is a compressor with settings.
type candidate struct {
	name  string
	level int
	size  int // see sizes
}

func (c candidate) String() string {
	if c.name == "none" {
		return c.name
	}
	text := fmt.Sprintf("%s level %d", c.name, c.level)
	if used, ok := lookup(c.name); ok && used.size != nil && c.size != 0 {
		text += fmt.Sprintf(", %s of %d bytes", used.size.what, c.size)
	}
	return text
}

// requirement is what Requires and Supported return, for example "pgzip:5/1f0c6b2e8d3a4957".
func (c candidate) requirement(fingerprint string) string {
	if c.name == "none" {
		return c.name
	}
	return c.name + ":" + strconv.Itoa(c.level) + "/" + fingerprint
}
