package recompress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestLibraries compresses with the libraries themselves, as container tools do.
func TestLibraries(t *testing.T) {
	t.Parallel()
	for kind, content := range contents(t) {
		if testing.Short() && kind != "tar" && kind != "empty" {
			continue // the others are left to the tests in full length
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for level := gzip.HuffmanOnly; level <= gzip.BestCompression; level++ {
				if testing.Short() && level != 6 && level != 1 {
					continue
				}
				var std, klauspost bytes.Buffer
				s, err := gzip.NewWriterLevel(&std, level)
				fail.On(t, err)
				s.Name, s.Extra, s.Comment, s.ModTime = "layer.tar", []byte("extra"), "comment", time.Unix(1e9, 0)
				k, err := kgzip.NewWriterLevel(&klauspost, level)
				fail.On(t, err)
				fail.On(t, errors.Join(writeInParts(s, content, 50_000), writeInParts(k, content, 50_000)))
				mustDetect(t, std.Bytes(), content)
				mustDetect(t, klauspost.Bytes(), content)
			}
			for level := zstd.SpeedFastest; level <= zstd.SpeedBestCompression; level++ {
				for _, concurrency := range []int{1, 4} {
					var b bytes.Buffer
					w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(concurrency))
					fail.On(t, err)
					fail.On(t, writeInParts(w, content, 50_000))
					mustDetect(t, b.Bytes(), content)
				}
			}
		})
	}
}

// TestBlocks compresses in blocks of several sizes.
func TestBlocks(t *testing.T) {
	t.Parallel()
	all := contents(t)
	for _, kind := range []string{"long", "empty", "one byte", "zeros", "random", "mixed", "program", "exactly 64 KiB"} {
		content, ok := all[kind]
		if testing.Short() && kind != "mixed" && kind != "one byte" {
			continue
		}
		if kind == "long" {
			content = bytes.Repeat(append(all["mixed"], all["tar"]...), 2)
		} else if !ok {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, _ := lookup("pgzip")
			for i, level := range c.levels {
				for j, size := range []int{1 << 20, 250 << 10, 64 << 10, 1<<14 + 1, 100_001} {
					if testing.Short() && (i > 0 || j > 2) {
						continue
					}
					blob := encode(t, c, level, size, gzipHeader(0), content)
					r := mustDetect(t, blob, content)
					if len(content) > 2*size && kind != "zeros" && (r.compressor != "pgzip" || r.size != size) {
						t.Errorf("detected %s instead of blocks of %d bytes", r.Compressor(), size)
					}
				}
			}
		})
	}
}

func gzipHeader(xfl byte) []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, xfl, 255} }

// TestMembers takes blobs of several members, as estargz and zstd:chunked have.
func TestMembers(t *testing.T) {
	t.Parallel()
	all := contents(t)
	parts := [][]byte{all["tar"], {}, all["words"][:1000], all["random"], all["program"], {'x'}}
	footer := append([]byte{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 4, 0}, "SG\x00\x00"...)
	skippable := append([]byte{0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0}, "table"...)
	for _, test := range []struct {
		name   string
		level  int
		header []byte
		end    []byte
	}{
		{"go-gzip", 9, gzipHeader(2), append(encode(t, must(t, "go-gzip"), 0, 0, footer, nil), make([]byte, 512)...)},
		{"klauspost-gzip", 5, gzipHeader(0), nil},
		{"klauspost-zstd", 2, nil, append(skippable, skippable...)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var blob []byte
			for i, p := range parts {
				blob = append(blob, encode(t, must(t, test.name), test.level, 0, test.header, p)...)
				if test.header == nil && i == 2 {
					blob = append(blob, skippable...)
				}
			}
			blob = append(blob, test.end...)
			r := mustDetect(t, blob, bytes.Join(parts, nil))
			if r.compressor != test.name || r.level != test.level {
				t.Errorf("detected %s", r.Compressor())
			}
		})
	}
}

func must(t *testing.T, name string) compressor {
	t.Helper()
	c, ok := lookup(name)
	if !ok {
		t.Fatalf("no compressor %s", name)
	}
	return c
}

func TestUncompressed(t *testing.T) {
	t.Parallel()
	for kind, content := range contents(t) {
		if r := mustDetect(t, content, content); r.Requires() != "none" {
			t.Errorf("%s: requires %q", kind, r.Requires())
		}
	}
}

// TestNotReproducible takes blobs without a recipe.
func TestNotReproducible(t *testing.T) {
	t.Parallel()
	content := contents(t)["mixed"]
	if testing.Short() {
		content = content[:60_000] // most candidates compress all of it
	}
	good := encode(t, must(t, "go-gzip"), 6, 0, gzipHeader(0), content)
	changed := bytes.Clone(good)
	changed[len(changed)-6] ^= 1 // the checksum
	flushed := func() []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		for _, p := range [][]byte{content[:5000], content[5000:9000], content[9000:]} {
			_, err := w.Write(p)
			fail.On(t, err)
			fail.On(t, w.Flush())
		}
		w.Close()
		return b.Bytes()
	}()
	frame := encode(t, must(t, "klauspost-zstd"), 2, 0, nil, content)
	for name, blob := range map[string][]byte{
		"truncated":           good[:len(good)-1],
		"truncated content":   good[:len(good)/2],
		"only a header":       good[:10],
		"part of a header":    good[:5],
		"wrong checksum":      changed,
		"flushed":             flushed,
		"much follows":        append(bytes.Clone(good), make([]byte, maxRaw+1)...),
		"truncated frame":     frame[:len(frame)-1],
		"bytes after a frame": append(bytes.Clone(frame), "more"...),
		"reserved block":      {0x28, 0xb5, 0x2f, 0xfd, 0, 0, 7, 0, 0},
	} {
		r, report, err := Detect(t.Context(), bytes.NewReader(blob), int64(len(blob)), DetectOptions{})
		if !errors.Is(err, ErrNotReproducible) {
			t.Errorf("%s: Detect returns %v, %v", name, r, err)
		}
		if strings.HasPrefix(name, "truncated") && report.Tried > 1 {
			t.Errorf("%s: tried %d compressors after the end", name, report.Tried)
		}
	}
}

func TestContentLimit(t *testing.T) {
	t.Parallel()
	blob := encode(t, must(t, "go-gzip"), 9, 0, gzipHeader(2), make([]byte, 10_000))
	_, err := detect(blob, DetectOptions{MaxContent: 10_000})
	fail.On(t, err)
	if _, err := detect(blob, DetectOptions{MaxContent: 9_999}); !errors.Is(err, ErrNotReproducible) || !strings.Contains(err.Error(), "9999") {
		t.Errorf("Detect returns %v", err)
	}
}

// failing is a blob that cannot be read after an offset.
type failing struct {
	io.ReaderAt
	after int64
}

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.after {
		return 0, errors.New("the disk is broken")
	}
	return f.ReaderAt.ReadAt(p, at)
}

func TestReadError(t *testing.T) {
	t.Parallel()
	content := contents(t)["random"]
	for _, name := range []string{"none", "go-gzip", "klauspost-zstd"} {
		blob := content
		if name != "none" {
			blob = encode(t, must(t, name), 1, 0, gzipHeader(0), content)
		}
		for _, after := range []int64{0, int64(len(blob)) - 1} {
			_, _, err := Detect(t.Context(), failing{bytes.NewReader(blob), after}, int64(len(blob)), DetectOptions{})
			if err == nil || errors.Is(err, ErrNotReproducible) || !strings.Contains(err.Error(), "the disk is broken") {
				t.Errorf("%s, broken after %d bytes: Detect returns %v", name, after, err)
			}
		}
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	blob := encode(t, must(t, "go-gzip"), 1, 0, gzipHeader(0), sample())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Detect(ctx, bytes.NewReader(blob), int64(len(blob)), DetectOptions{}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotReproducible) {
		t.Errorf("Detect returns %v", err)
	}
}

// TestFewCandidates checks that the right candidate is found early in usual blobs, and that wrong
// ones cost little.
func TestFewCandidates(t *testing.T) {
	if testing.Short() {
		t.Skip("it compresses much")
	}
	t.Parallel()
	content := bytes.Repeat(append(contents(t)["mixed"], contents(t)["tar"]...), 4)
	for _, test := range []struct {
		name             string
		level, blockSize int
		xfl              byte
		tried            int
	}{
		{"go-gzip", 6, 0, 0, 1},
		{"go-gzip", 1, 0, 4, 1},
		{"go-gzip", 9, 0, 2, 1},
		{"pgzip", 5, 1 << 20, 0, 2}, // after Go
		{"pgzip", 5, 250 << 10, 0, 2},
		{"pgzip", 6, 1 << 20, 0, 3},
		{"klauspost-zstd", 2, 0, 0, 1},
	} {
		c := must(t, test.name)
		blob := encode(t, c, test.level, test.blockSize, gzipHeader(test.xfl), content)
		r, report, err := Detect(t.Context(), bytes.NewReader(blob), int64(len(blob)), DetectOptions{Now: ticks()})
		if err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		if report.Tried > test.tried || report.Wasted > int64(test.tried-1)*4<<20 || report.Busy == 0 {
			t.Errorf("%s: %+v", r.Compressor(), report)
		}
	}
}

// ticks is a clock that advances with each look at it.
func ticks() func() time.Time {
	ch := make(chan time.Time, 1)
	ch <- time.Unix(0, 0)
	return func() time.Time {
		now := (<-ch).Add(time.Millisecond)
		ch <- now
		return now
	}
}

func TestWriterErrors(t *testing.T) {
	t.Parallel()
	content := contents(t)["words"]
	r := mustDetect(t, encode(t, must(t, "go-gzip"), 6, 0, gzipHeader(0), content), content)
	w, err := r.NewWriter(io.Discard)
	fail.On(t, err)
	if err := writeInParts(w, content[1:], 1000); !errors.Is(err, ErrContentSize) {
		t.Errorf("missing content: %v", err)
	}
	w, err = r.NewWriter(io.Discard)
	fail.On(t, err)
	if err := writeInParts(w, append(bytes.Clone(content), 'x'), 1000); !errors.Is(err, ErrContentSize) {
		t.Errorf("more content: %v", err)
	}
	other := *r
	other.fingerprint = strings.Repeat("0", 2*fingerprintSize)
	if _, err := other.NewWriter(io.Discard); !errors.Is(err, ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "go-gzip:6/0000") {
		t.Errorf("another fingerprint: %v", err)
	}
}
