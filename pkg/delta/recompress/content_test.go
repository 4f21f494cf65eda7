package recompress

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// contents returns content of many kinds. Long ones are several blocks long. With -short, they are as
// short as that permits.
func contents(t *testing.T) map[string][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	parts, members := 1, 100
	if testing.Short() {
		parts, members = 3, 25
	}
	random := make([]byte, 300_000)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	all := map[string][]byte{
		"empty":          {},
		"one byte":       {'x'},
		"short":          []byte("a few words, a few words"),
		"zeros":          make([]byte, 300_000/parts),
		"random":         random[:max(100_000, 200_000/parts)],
		"words":          words(r, 200_000/parts),
		"exactly 64 KiB": words(r, 64<<10),
		"mixed":          bytes.Join([][]byte{words(r, 70_000/parts), random[:90_000/parts], make([]byte, 70_000/parts), sample()[:sampleSize/parts], words(r, 20_000/parts)}, nil),
		"tar":            tarOf(t, r, members),
	}
	if self, err := os.ReadFile(os.Args[0]); err == nil { // a program, in the format of this system
		all["program"] = self[:min(len(self), 300_000/parts)]
	}
	return all
}

func words(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "%d line %x of %s\n", b.Len(), r.IntN(1<<20), []string{"the catalog", "a bundle", "an image"}[r.IntN(3)])
	}
	return b.Bytes()[:n]
}

func tarOf(t *testing.T, r *rand.Rand, members int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range members {
		content := words(r, r.IntN(9000))
		h := &tar.Header{Name: fmt.Sprintf("usr/share/doc/%d", i), Mode: 0o644, Size: int64(len(content)), ModTime: time.Unix(int64(i), 0)}
		fail.On(t, w.WriteHeader(h))
		_, err := w.Write(content)
		fail.On(t, err)
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

// mustDetect returns the recipe of a blob and checks that it makes the blob from the content, after
// writing and reading the recipe, with any sizes of writes.
func mustDetect(t *testing.T, blob, content []byte) *Recipe {
	t.Helper()
	found, report, err := Detect(t.Context(), bytes.NewReader(blob), int64(len(blob)), DetectOptions{})
	if err != nil {
		t.Fatalf("Detect: %v after %+v; %d bytes of content", err, report, len(content))
	}
	checkRecipe(t, found, blob, content)
	fail.Diff(t, found.Compressor(), report.Compressor)
	return found
}

func checkRecipe(t *testing.T, found *Recipe, blob, content []byte) {
	t.Helper()
	raw, err := found.MarshalBinary()
	fail.On(t, err)
	recipe, err := Parse(raw)
	fail.On(t, err)
	if recipe.ContentSize() != int64(len(content)) {
		t.Errorf("ContentSize is %d, want %d", recipe.ContentSize(), len(content))
	}
	for _, sizes := range []int{0, 7, 50_000} {
		if sizes == 7 && len(content) > 70_000 {
			sizes = 1000
		}
		var got bytes.Buffer
		w, err := recipe.NewWriter(&got)
		fail.On(t, err)
		fail.On(t, writeInParts(w, content, sizes))
		if !bytes.Equal(got.Bytes(), blob) {
			t.Fatalf("%s makes another blob if written in parts of at most %d bytes", recipe.Compressor(), sizes)
		}
	}
	u, err := Uncompress(bytes.NewReader(blob))
	fail.On(t, err)
	defer u.Close()
	if got, err := io.ReadAll(u); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("Uncompress returns other content, and %v", err)
	}
}

// writeInParts writes b in parts of random sizes, at most limit; 0 means in one part.
func writeInParts(w io.WriteCloser, b []byte, limit int) error {
	r := rand.New(rand.NewPCG(3, uint64(limit)))
	for len(b) > 0 {
		n := len(b)
		if limit > 0 {
			n = min(n, r.IntN(limit+1))
		}
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return w.Close()
}

// encode returns what a compressor makes of the content, as one member.
func encode(t *testing.T, c compressor, level, blockSize int, header, content []byte) []byte {
	t.Helper()
	e, err := c.open(level, blockSize)
	fail.On(t, err)
	var b bytes.Buffer
	m := memberWriter{w: &b, format: c.format, encoder: e}
	fail.On(t, errors.Join(m.begin(header), m.write(content), m.finish()))
	return b.Bytes()
}

func detect(b []byte, o DetectOptions) (*Recipe, error) {
	r, _, err := Detect(context.Background(), bytes.NewReader(b), int64(len(b)), o)
	return r, err
}
