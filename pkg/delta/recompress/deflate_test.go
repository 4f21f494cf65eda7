package recompress

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// deflated returns content as a stream of raw deflate.
func deflated(t testing.TB, use candidate, content []byte) []byte {
	t.Helper()
	c, ok := deflateCompressor(use)
	if !ok {
		t.Fatalf("%s does not write raw deflate", use)
	}
	e, err := c.open(use.level, use.size)
	fail.On(t, err)
	var b bytes.Buffer
	e.Reset(&b)
	_, err = e.Write(content)
	fail.On(t, err)
	fail.On(t, e.Close())
	return b.Bytes()
}

func detectDeflate(t testing.TB, d *DeflateDetector, stream, content []byte) (DeflateRecipe, error) {
	t.Helper()
	return d.Detect(t.Context(), bytes.NewReader(stream), int64(len(stream)), bytes.NewReader(content), int64(len(content)))
}

// TestDeflate finds the recipe of streams, writes and reads it, and compresses with it.
func TestDeflate(t *testing.T) {
	t.Parallel()
	contents := [][]byte{sample()[:25_000], sample()[:300], []byte("a")}
	for _, kind := range usualDeflate {
		use := candidate{name: kind.Compressor, level: kind.Level}
		d := NewDeflateDetector(nil)
		for _, content := range contents {
			stream := deflated(t, use, content)
			r, err := detectDeflate(t, d, stream, content)
			if err != nil {
				t.Fatalf("%s: %v", use, err)
			}
			raw, err := r.MarshalBinary()
			fail.On(t, err)
			again, err := ParseDeflate(raw)
			if err != nil || again != r || again.Check() != nil {
				t.Fatalf("%s: %v is read as %v: %v", use, r, again, err)
			}
			var out bytes.Buffer
			w, err := again.NewWriter(&out)
			fail.On(t, err)
			for range 2 { // the second time after Reset
				out.Reset()
				w.Reset(&out)
				_, err := io.Copy(w, bytes.NewReader(content))
				fail.On(t, err)
				if err := w.Close(); err != nil || !bytes.Equal(out.Bytes(), stream) {
					t.Fatalf("%s: the stream differs, %v", use, err)
				}
			}
		}
	}
}

// TestDeflateDetector checks that the last recipe is tried first, and that the detector gives up.
func TestDeflateDetector(t *testing.T) {
	t.Parallel()
	content := sample()[:25_000]
	fast := candidate{name: "go-gzip", level: 1}
	stream := deflated(t, fast, content)
	d := NewDeflateDetector(nil)
	if _, err := detectDeflate(t, d, stream, content); err != nil || d.order[0] != fast {
		t.Fatalf("the first candidate is %s, %v", d.order[0], err)
	}
	wrong := d.wrong
	if _, err := detectDeflate(t, d, stream, content); err != nil || d.wrong != wrong {
		t.Errorf("%d bytes with wrong compressors, %v", d.wrong-wrong, err)
	}

	damaged := bytes.Clone(stream)
	damaged[len(damaged)/2]++
	for _, s := range [][]byte{damaged, stream[:len(stream)-1], append(bytes.Clone(stream), 0)} {
		if _, err := detectDeflate(t, d, s, content); !errors.Is(err, ErrNotReproducible) {
			t.Errorf("a wrong stream: %v", err)
		}
	}

	d = NewDeflateDetector(nil)
	for range maxDeflateFailures + 3 {
		wrong = d.wrong
		if _, err := detectDeflate(t, d, damaged, content); !errors.Is(err, ErrNotReproducible) {
			t.Errorf("a wrong stream: %v", err)
		}
	}
	if d.wrong != wrong || d.failures != maxDeflateFailures {
		t.Errorf("it tries after %d failures", d.failures)
	}

	none := NewDeflateDetector(func(string) bool { return false })
	if _, err := detectDeflate(t, none, stream, content); !errors.Is(err, ErrNotReproducible) {
		t.Errorf("a compressor that is not accepted: %v", err)
	}
}

func TestParseDeflateRefused(t *testing.T) {
	t.Parallel()
	good, err := DeflateRecipe{use: candidate{name: "zlib", level: 6}, fingerprint: "0011223344556677"}.MarshalBinary()
	fail.On(t, err)
	r, err := ParseDeflate(good)
	fail.On(t, err)
	if err := r.Check(); !errors.Is(err, ErrUnsupported) {
		t.Errorf("another fingerprint: %v", err)
	}
	if _, err := r.NewWriter(io.Discard); !errors.Is(err, ErrUnsupported) {
		t.Errorf("another fingerprint: %v", err)
	}
	for n := range good {
		if _, err := ParseDeflate(good[:n]); !errors.Is(err, ErrRecipe) {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
	if _, err := ParseDeflate(append(good, 0)); !errors.Is(err, ErrRecipe) {
		t.Errorf("a byte more: %v", err)
	}
	for _, name := range []string{"pgzip", "pigz", "klauspost-zstd", "none", "new"} {
		raw, err := DeflateRecipe{use: candidate{name: name, level: 6}, fingerprint: "0011223344556677"}.MarshalBinary()
		fail.On(t, err)
		if _, err := ParseDeflate(raw); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
