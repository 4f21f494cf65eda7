package recompress

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzParse checks that a recipe that is accepted is written again as the same bytes.
func FuzzParse(f *testing.F) {
	content := sample()[:20_000]
	for _, c := range compressors() {
		header := gzipHeader(0)
		if c.format != gzipFormat {
			header = nil
		}
		size := 0
		if c.size != nil && !c.size.rare {
			size = c.size.usual[0]
		}
		e, err := c.open(c.levels[0], size)
		fail.On(f, err)
		var b bytes.Buffer
		m := memberWriter{w: &b, format: c.format, encoder: e}
		fail.On(f, errors.Join(m.begin(header), m.write(content), m.finish()))
		r, err := detect(b.Bytes(), DetectOptions{})
		fail.On(f, err)
		raw, err := r.MarshalBinary()
		fail.On(f, err)
		f.Add(raw)
	}
	members := Recipe{compressor: "go-gzip", level: 1, fingerprint: "0011223344556677", headers: [][]byte{gzipHeader(0), gzipHeader(4)},
		segments: []segment{{length: 1}, {header: 1, length: 500}, {}, {raw: []byte("end")}}}
	raw, err := members.MarshalBinary()
	fail.On(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrRecipe) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("Parse returns %v", err)
			}
			return
		}
		again, err := r.MarshalBinary()
		if err != nil || !bytes.Equal(b, again) {
			t.Fatalf("%x was read, %x is written, %v", b, again, err)
		}
		if n := r.ContentSize(); n < 0 || n > maxContentSize {
			t.Fatalf("the content has %d bytes", n)
		}
	})
}

// FuzzDetect checks that a recipe that is found makes the blob from its content.
// The content is short because a blob that nothing reproduces is compressed with each candidate.
func FuzzDetect(f *testing.F) {
	f.Add([]byte("text"))
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 4, 0, 1, 0, 0, 0x99, 0xe9, 0xd8, 0x51})
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := detect(b, DetectOptions{MaxContent: 32 << 10})
		if err != nil {
			if !errors.Is(err, ErrNotReproducible) {
				t.Fatalf("Detect returns %v", err)
			}
			return
		}
		u, err := Uncompress(bytes.NewReader(b))
		fail.On(t, err)
		defer u.Close()
		content, err := io.ReadAll(u)
		fail.On(t, err)
		checkRecipe(t, r, b, content)
	})
}

// FuzzContent checks that what a compressor makes of any content is recognized.
//
// Slow: it compresses with a program and searches for that one; FuzzDetect and FuzzParse read what strangers wrote.
func FuzzContent(f *testing.F) {
	f.Add([]byte("text"), byte(0), uint16(1))
	f.Add(sample()[:3000], byte(20), uint16(40))
	f.Fuzz(func(t *testing.T, content []byte, which byte, repeat uint16) {
		content = bytes.Repeat(content, min(int(repeat), 4000/(len(content)+1)))
		all := compressors()
		c := all[int(which)%len(all)]
		level := c.levels[int(which)/len(all)%len(c.levels)]
		size := 0
		if c.size != nil && !c.size.rare {
			size = c.size.min + int(which)
		}
		if c.format != uncompressed {
			mustDetect(t, encode(t, c, level, size, gzipHeader(0), content), content)
		}
	})
}
