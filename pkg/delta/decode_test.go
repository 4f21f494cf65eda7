package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestHeader(t *testing.T) {
	t.Parallel()
	h := &Header{
		Version: Solid, Digest: digest.FromString("target"), Size: 5, ContentSize: 1 << 40, ContentHash: [32]byte{1, 2}, Recipe: []byte("recipe"),
		Bases: []BaseInfo{{digest.FromString("a"), 7}, {digest.SHA512.FromString("b"), 0}},
	}
	b, err := h.MarshalBinary()
	fail.On(t, err)
	r := bytes.NewReader(append(bytes.Clone(b), "rest"...))
	got, err := ReadHeader(r)
	fail.On(t, err)
	fail.Diff(t, h, got)
	fail.Diff(t, 4, r.Len())
	for n := range b {
		if _, err := ReadHeader(bytes.NewReader(b[:n])); !errors.Is(err, ErrInvalid) {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
	newer := bytes.Clone(b)
	newer[len(magic)] = Solid + 1
	if _, err := ReadHeader(bytes.NewReader(newer)); !errors.Is(err, ErrVersion) {
		t.Errorf("newer version: %v", err)
	}
}

func TestHeaderRefused(t *testing.T) {
	t.Parallel()
	good := digest.FromString("x")
	for name, h := range map[string]*Header{
		"digest":       {Digest: "sha256:12"},
		"size":         {Digest: good, Size: -1},
		"content size": {Digest: good, ContentSize: -1},
		"recipe":       {Digest: good, Recipe: make([]byte, MaxRecipe+1)},
		"bases":        {Digest: good, Bases: make([]BaseInfo, MaxBases+1)},
		"base digest":  {Digest: good, Bases: []BaseInfo{{"", 0}}},
		"base size":    {Digest: good, Bases: []BaseInfo{{good, maxAddress}, {good, 1}}},
	} {
		if _, err := h.MarshalBinary(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := binary.LittleEndian.AppendUint32(append([]byte(magic), Plain), maxHeader+1)
	if _, err := ReadHeader(bytes.NewReader(long)); !errors.Is(err, ErrInvalid) {
		t.Errorf("long header: %v", err)
	}
	h := &Header{Digest: good}
	b, err := h.MarshalBinary()
	fail.On(t, err)
	at := len(magic) + 1 + 4 + 1 + len(good) // Size
	padded := append(append(bytes.Clone(b[:at]), 0x80), b[at:]...)
	padded[len(magic)+1]++
	if _, err := ReadHeader(bytes.NewReader(padded)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a number that is longer than necessary: %v", err)
	}
}

func TestWrongBase(t *testing.T) {
	t.Parallel()
	base := random(1, 300_000)
	d, _ := encode(t, append(bytes.Clone(base), "x"...), Options{}, base)
	other := bytes.Clone(base)
	other[1000]++
	if _, err := decode(t, d, other); !errors.Is(err, ErrMismatch) {
		t.Errorf("a base with another byte: %v", err)
	}
}

func TestContentLimit(t *testing.T) {
	t.Parallel()
	base := random(1, 300_000)
	d, _ := encode(t, base, Options{}, base)
	var out bytes.Buffer
	_, err := Decode(t.Context(), &out, bytes.NewReader(d), func(int, BaseInfo) (io.ReaderAt, error) { return bytes.NewReader(base), nil },
		DecodeOptions{MaxContentSize: 299_999})
	if !errors.Is(err, ErrInvalid) || out.Len() > 0 {
		t.Errorf("%d bytes, error %v", out.Len(), err)
	}
}

// TestDamaged changes, removes and appends bytes: the content is right or there is an error, and no more bytes are written than announced.
func TestDamaged(t *testing.T) {
	t.Parallel()
	base := random(1, 30_000)
	target := append([]byte("start"), base[100:]...)
	for i := 50; i < len(target); i += 97 {
		target[i] += byte(i)
	}
	d, _ := encode(t, target, Options{}, base)
	try := func(d []byte) {
		got, err := decode(t, d, base)
		if err == nil && !bytes.Equal(got, target) {
			t.Fatal("other content without an error")
		}
		if len(got) > len(target) {
			t.Fatalf("%d bytes were written, %d announced", len(got), len(target))
		}
	}
	for i := len(d) - 1; i >= 0; i -= 3 {
		changed := bytes.Clone(d)
		changed[i] ^= 1 << (i % 8)
		if i > len(magic)+200 { // past the lengths in the header
			try(changed)
		}
		if _, err := decode(t, d[:i], base); err == nil {
			t.Fatalf("%d of %d bytes were enough", i, len(d))
		}
	}
	if _, err := decode(t, append(bytes.Clone(d), 0), base); !errors.Is(err, ErrInvalid) {
		t.Errorf("a byte more: %v", err)
	}
}

func FuzzReadHeader(f *testing.F) {
	h := &Header{Digest: digest.FromString("target"), Size: 5, ContentSize: 9, Recipe: []byte("r"), Bases: []BaseInfo{{digest.FromString("a"), 7}}}
	b, err := h.MarshalBinary()
	fail.On(f, err)
	f.Add(b)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadHeader(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := h.MarshalBinary()
		if err != nil || !bytes.HasPrefix(b, again) {
			t.Fatalf("a header that is read is written in another way: %v", err)
		}
	})
}

// FuzzDecode decodes tables and frames of strangers. The bases are small, and the output is at most 64 KiB.
func FuzzDecode(f *testing.F) {
	base := random(1, 5000)
	h := &Header{Digest: digest.FromString("x"), ContentSize: 64 << 10, Bases: []BaseInfo{{digest.FromString("a"), 5000}, {digest.FromString("b"), 5000}}}
	for seed := range uint64(8) {
		target := append(random(seed, 50), base[seed*400:]...)
		for i := 70; i < len(target); i += 50 {
			target[i]++
		}
		d, _ := encode(f, target, Options{Version: Plain + int(seed%2)}, base)
		own, err := ReadHeader(bytes.NewReader(d))
		fail.On(f, err)
		head, err := own.MarshalBinary()
		fail.On(f, err)
		f.Add(d[len(head):])
	}
	padded := func(b []byte, size int64) []byte { return append(b, make([]byte, size-int64(len(b)))...) }
	compressed := padded(layer(f, file{"a.gz", zipped(f, hexWords(1, 2000))}), h.Bases[1].ContentSize)
	d, s := encode(f, padded(layer(f, file{"a.gz", zipped(f, edited(hexWords(1, 2000)))}), h.ContentSize), Options{}, base, compressed)
	own, err := ReadHeader(bytes.NewReader(d))
	if err != nil || s.Unpacked != 1 {
		f.Fatal(s, err)
	}
	head, err := own.MarshalBinary()
	fail.On(f, err)
	f.Add(d[len(head):])
	contents := [][]byte{base, compressed}
	f.Fuzz(func(t *testing.T, frames []byte) {
		for version := Plain; version <= Solid; version++ {
			var out bytes.Buffer
			own := *h
			own.Version = version
			err := own.Decode(t.Context(), &out, bytes.NewReader(frames), func(i int, _ BaseInfo) (io.ReaderAt, error) {
				return bytes.NewReader(contents[i]), nil
			}, DecodeOptions{})
			if int64(out.Len()) > h.ContentSize {
				t.Fatalf("%d bytes were written, %d announced: %v", out.Len(), h.ContentSize, err)
			}
			if err != nil && !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrMismatch) && !errors.Is(err, recompress.ErrUnsupported) {
				t.Fatalf("an error of another kind: %v", err)
			}
		}
	})
}

// FuzzRoundTrip has edits of a base as its input. Max differs by its limits only, so each input is encoded once.
//
// Slow: an encoder compares and compresses; FuzzDecode and FuzzReadHeader read what strangers wrote.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("a base that has some words"), []byte("a base that has other words"), false)
	f.Add(bytes.Repeat([]byte{0xe8, 1, 2, 0, 0}, 300), bytes.Repeat([]byte{0xe8, 5, 2, 0, 0}, 290), true)
	f.Fuzz(func(t *testing.T, base, target []byte, much bool) {
		const most = 2 << 10
		base, target = base[:min(len(base), most)], target[:min(len(target), most)]
		o := Options{Workers: 1}
		if much {
			o.Effort, o.Version = Max, Solid
		}
		d, _ := encode(t, target, o, base)
		got, err := decode(t, d, base)
		if err != nil || !bytes.Equal(got, target) {
			t.Fatalf("effort %d: %v", o.Effort, err)
		}
	})
}
