package delta

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	own "github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// jar returns a zip file with an entry for each content. They are compressed by zlib, as in Java.
func jar(t testing.TB, contents ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return own.NewWriter(to, own.Options{Level: 6}) })
	for i, content := range contents {
		part, err := w.Create(fmt.Sprintf("org/example/C%d.class", i))
		fail.On(t, err)
		_, err = part.Write(content)
		fail.On(t, err)
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

// elf returns a program with a section of code and compressed ones, as the linker of Go writes them.
func elf(t testing.TB, code []byte, sections ...[]byte) []byte {
	t.Helper()
	names := []byte("\x00.text\x00.debug_0\x00.debug_1\x00.debug_2\x00")
	order := binary.LittleEndian
	body := make([]byte, 64)
	copy(body, "\x7fELF\x02\x01\x01")
	table := make([]byte, 64)
	add := func(name string, flags uint64, content []byte) {
		table = order.AppendUint32(table, uint32(bytes.Index(names, []byte(name))))
		table = order.AppendUint32(table, 1)
		for _, v := range []uint64{flags, 0, uint64(len(body)), uint64(len(content)), 0, 1, 0} {
			table = order.AppendUint64(table, v)
		}
		body = append(body, content...)
	}
	add(".text", 0, code)
	for i, content := range sections {
		z := bytes.NewBuffer(order.AppendUint64(order.AppendUint64(order.AppendUint64(nil, 1), uint64(len(content))), 1))
		w, err := zlib.NewWriterLevel(z, flate.BestSpeed)
		fail.On(t, err)
		_, err = w.Write(content)
		fail.On(t, err)
		fail.On(t, w.Close())
		add(fmt.Sprintf(".debug_%d", i), 1<<11, z.Bytes())
	}
	add("\x00", 0, names)
	order.PutUint64(body[40:], uint64(len(body)))
	for i, v := range []int{64, len(table) / 64, len(table)/64 - 1} {
		order.PutUint16(body[58+2*i:], uint16(v))
	}
	return append(body, table...)
}

func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(content)
	fail.On(t, err)
	fail.On(t, w.Close())
	return b.Bytes()
}

// hexWords returns text that deflate halves.
func hexWords(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 9))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "%x\n", r.Uint64())
	}
	return b.Bytes()[:n]
}

// edited returns content with some other words.
func edited(b []byte) []byte {
	b = bytes.Clone(b)
	for i := 1000; i+10 < len(b); i += 9001 {
		copy(b[i:], "changed")
	}
	return b
}

func TestUnpacked(t *testing.T) {
	t.Parallel()
	a, b, c := hexWords(1, 100_000), hexWords(2, 60_000), hexWords(3, 40_000)
	code := random(1, 50_000)
	layers := map[string]struct {
		base, target []file
		parts, limit int
	}{
		"jar": {
			[]file{{"lib/app-1.0.jar", jar(t, a, b, c)}}, []file{{"lib/app-1.1.jar", jar(t, edited(a), b, edited(c))}}, 2, 1000,
		},
		"program":   {[]file{{"bin/app", elf(t, code, a, b)}}, []file{{"bin/app", elf(t, edited(code), edited(a), edited(b))}}, 2, 1000},
		"gzip file": {[]file{{"man.1.gz", zipped(t, a)}}, []file{{"man.1.gz", zipped(t, edited(a))}}, 1, 1000},
		"two copies of a file": {
			[]file{{"a.jar", jar(t, a)}}, []file{{"a.jar", jar(t, edited(a))}, {"old/a.jar", jar(t, a)}}, 0, 120_000, // the base is copied, so it stays packed
		},
		"two versions of a file": {[]file{{"a.jar", jar(t, a)}}, []file{{"1/a.jar", jar(t, edited(a))}, {"2/a.jar", jar(t, edited(edited(a)[1:]))}}, 2, 1000},
		"unchanged":              {[]file{{"a.jar", jar(t, a)}}, []file{{"b.jar", jar(t, a)}}, 0, 1000},
		"not packed before":      {[]file{{"a", a}}, []file{{"a", zipped(t, edited(a))}}, 1, 1000},
		"entries in another order": {
			[]file{{"lib/app.jar", jar(t, a, b, c)}}, []file{{"lib/app.jar", jar(t, c, edited(a), edited(b))}}, 2, 1000,
		},
	}
	for name, tc := range layers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := layer(t, tc.target...)
			d, s := roundTrip(t, target, layer(t, tc.base...))
			if s.Unpacked != tc.parts || len(d) > tc.limit || len(s.Requires) != min(tc.parts, 1) {
				t.Errorf("%d parts, %d bytes, it requires %v", s.Unpacked, len(d), s.Requires)
			}
		})
	}
}

// TestUnpackedRefused checks that parts stay packed whose compressor the reader does not reproduce, and those that cannot be reproduced.
func TestUnpackedRefused(t *testing.T) {
	t.Parallel()
	a := hexWords(1, 30_000)
	base, target := layer(t, file{"a.jar", jar(t, a)}), layer(t, file{"a.jar", jar(t, edited(a))})
	d, s := encode(t, target, Options{Compressors: func(requires string) bool {
		return !strings.Contains(requires, "zip") && !strings.HasPrefix(requires, "zlib")
	}}, base)
	if got, err := decode(t, d, base); err != nil || !bytes.Equal(got, target) || s.Unpacked != 0 || len(s.Requires) != 0 {
		t.Errorf("%d parts, it requires %v, %v", s.Unpacked, s.Requires, err)
	}
	strange := bytes.Clone(target)
	strange[block+9000]++ // in the stream
	d, s = encode(t, strange, Options{}, base)
	if got, err := decode(t, d, base); err != nil || !bytes.Equal(got, strange) || s.Unpacked != 0 {
		t.Errorf("%d parts, %v", s.Unpacked, err)
	}
}

// TestUnpackedRandom has layers with files of all kinds; some changed, some are damaged, and some are cut off.
func TestUnpackedRandom(t *testing.T) {
	t.Parallel()
	seeds := uint64(25)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		var base, target []file
		for i := range 1 + r.IntN(6) {
			var parts, others [][]byte
			for range 1 + r.IntN(3) {
				part := sample(r, r.IntN(20_000))
				parts = append(parts, part)
				if r.IntN(3) > 0 {
					part = edit(r, part, 1+r.IntN(5))
				}
				others = append(others, part)
			}
			pack := func(parts [][]byte) []byte {
				switch i % 3 {
				case 0:
					return jar(t, parts...)
				case 1:
					return elf(t, parts[0], parts...)
				}
				return zipped(t, parts[0])
			}
			was, is := pack(parts), pack(others)
			if r.IntN(4) == 0 {
				is = edit(r, is, 1)
			}
			if r.IntN(8) == 0 {
				was = was[:r.IntN(len(was))]
			}
			base, target = append(base, file{fmt.Sprintf("f%d", i), was}), append(target, file{fmt.Sprintf("f%d", i), is})
		}
		old, content := layer(t, base...), layer(t, target...)
		if r.IntN(4) == 0 {
			content = content[:r.IntN(len(content))]
		}
		d, _ := encode(t, content, Options{Effort: Effort(seed % 2)}, old[:len(old)/2], old)
		got, err := decode(t, d, old[:len(old)/2], old)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestUnpackedWrong has a base with other content, in the place of a compressed part, and damaged deltas.
func TestUnpackedWrong(t *testing.T) {
	t.Parallel()
	a := hexWords(1, 5000)
	base, target := layer(t, file{"a.jar", jar(t, a)}), layer(t, file{"a.jar", jar(t, edited(a))})
	d, s := encode(t, target, Options{}, base)
	if s.Unpacked != 1 {
		t.Fatalf("%+v", s)
	}
	other := bytes.Clone(base)
	clear(other[block+1000 : block+1200])
	if _, err := decode(t, d, other); !errors.Is(err, ErrMismatch) {
		t.Errorf("a base with other content: %v", err)
	}
	for i := len(magic) + 200; i < len(d); i++ {
		changed := bytes.Clone(d)
		changed[i] ^= 1 << (i % 8)
		got, err := decode(t, changed, base)
		if err == nil && !bytes.Equal(got, target) {
			t.Fatal("other content without an error")
		}
		if len(got) > len(target) {
			t.Fatalf("%d bytes were written, %d announced", len(got), len(target))
		}
	}
}

// TestUnpackedTemporary checks that the temporary files are in the folder that was asked for, and are removed.
func TestUnpackedTemporary(t *testing.T) {
	t.Parallel()
	a := hexWords(1, 30_000)
	base, target := layer(t, file{"a.jar", jar(t, a)}), layer(t, file{"a.jar", jar(t, edited(a))})
	dir := t.TempDir()
	d, _ := encode(t, target, Options{Temp: dir}, base)
	open := func(int, BaseInfo) (io.ReaderAt, error) { return bytes.NewReader(base), nil }
	_, err := Decode(t.Context(), io.Discard, bytes.NewReader(d), open, DecodeOptions{Temp: dir})
	fail.On(t, err)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	fail.On(t, os.WriteFile(dir+"/file", nil, 0o600))
	if _, err := Decode(t.Context(), io.Discard, bytes.NewReader(d), open, DecodeOptions{Temp: dir + "/file"}); err == nil {
		t.Error("it needs no temporary file")
	}
}

// TestShortChange has a change in the last bytes of a tar header. What follows is copied from the addresses that follow, and is not joined with it.
func TestShortChange(t *testing.T) {
	t.Parallel()
	base := layer(t, file{"a", random(1, 50_000)}, file{"b", random(2, 50_000)})
	target := bytes.Clone(base)
	for _, header := range [][]byte{target, target[(2+50_000/block)*block:]} {
		header[block-3]++
		header[bytes.IndexByte(header[136:], '1')+136]-- // the time of the file, so that the checksum remains
	}
	if _, s := roundTrip(t, target, base); s.Changed != 4 || s.Members.Unchanged != 3 {
		t.Errorf("%+v", s)
	}
}
