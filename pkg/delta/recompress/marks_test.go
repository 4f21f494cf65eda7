package recompress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestMarksAtBlockEnds has the bytes of a sync flush in content that is stored as it is. Only those
// between blocks are marks.
func TestMarksAtBlockEnds(t *testing.T) {
	t.Parallel()
	jars := contents(t)["random"][:100_000]
	for i := 3000; i < len(jars); i += 40_001 { // too far from each other to be a match
		copy(jars[i:], syncMark)
	}
	for _, test := range []struct {
		name             string
		level, blockSize int
		content          []byte
		block            int64
	}{
		{"go-gzip", 6, 0, jars, 0},
		{"go-gzip", 9, 0, jars, 0},
		{"klauspost-gzip", 5, 0, jars, 0},
		{"pgzip", 5, 64 << 10, jars, 64 << 10},
		{"pgzip", 9, 1<<14 + 1, jars, 1<<14 + 1},
	} {
		blob := encode(t, must(t, test.name), test.level, test.blockSize, gzipHeader(0), test.content)
		marks, first := bytes.Count(blob, syncMark), bytes.Index(blob, syncMark)
		if marks < 2 || first > len(blob)/2 {
			t.Fatalf("%s: the blob has %d of these bytes, the first at %d; the test needs more", test.name, marks, first)
		}
		e, err := examine(bytes.NewReader(blob), int64(len(blob)))
		if err != nil || e.marked != (test.block > 0) || e.block != test.block {
			t.Errorf("%s level %d: %+v, %v", test.name, test.level, e, err)
		}
		mustDetect(t, blob, test.content)
	}
}

// TestGoFirst checks that Go's default is tried first for its header, also if there is a mark.
func TestGoFirst(t *testing.T) {
	t.Parallel()
	goes := candidate{name: "go-gzip", level: 6}
	for name, test := range map[string]struct {
		evidence
		first bool
	}{
		"Go's header":        {evidence{format: gzipFormat}, true},
		"a mark":             {evidence{format: gzipFormat, marked: true, block: 1 << 20}, true},
		"another level":      {evidence{format: gzipFormat, level: 9}, false},
		"a program's header": {evidence{format: gzipFormat, unix: true}, false},
	} {
		if at := slices.Index(test.candidates(), goes); (at == 0) != test.first {
			t.Errorf("%s: Go's default is candidate %d", name, at)
		}
	}
}

func TestWasteLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size int64
		n    int
		want int64
	}{
		{0, 77, minWaste},
		{3 << 20, 77, 77 * 3 << 20}, // enough for each candidate
		{5 << 20, 77, smallWaste},
		{1 << 30, 77, 4 << 30},
		{math.MaxInt64, 77, math.MaxInt64 / 77 * wasteFactor},
	} {
		fail.Diff(t, test.want, wasteLimit(test.size, test.n))
	}
}

// TestLongContent has content that is longer than what wrong candidates may compress.
func TestLongContent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compresses 80 MB")
	}
	content := bytes.Repeat(contents(t)["words"][:30_000], minWaste/30_000*5/4)
	blob := encode(t, must(t, "klauspost-gzip"), 5, 0, gzipHeader(0), content)
	r, err := detect(blob, DetectOptions{})
	if err != nil || r.Compressor() != "klauspost-gzip level 5" {
		t.Errorf("Detect returns %v, %v", r, err)
	}
}

// TestManyMembers has members without content, which all levels of zlib compress alike. Trying all of them
// would take a minute.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compresses 200000 members")
	}
	var end bytes.Buffer
	w := gzip.NewWriter(&end)
	fail.On(t, errors.Join(w.Flush(), w.Close()))
	member := encode(t, must(t, "zlib"), 6, 0, gzipHeader(0), nil)
	blob := append(bytes.Repeat(member, 50_000), end.Bytes()...)
	_, report, err := Detect(t.Context(), bytes.NewReader(blob), int64(len(blob)), DetectOptions{})
	if !errors.Is(err, ErrNotReproducible) || report.Wasted < minWaste || report.Tried > 30 {
		t.Errorf("Detect returns %v after %+v", err, report)
	}
}
