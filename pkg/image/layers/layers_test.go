package layers

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A blob records whether it was closed.
type blob struct {
	io.Reader
	closed bool
}

func (b *blob) Close() error { b.closed = true; return nil }

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	fail.On(t, err)
	fail.On(t, z.Close())
	return b.Bytes()
}

func TestRead(t *testing.T) {
	data := bytes.Repeat([]byte("layer "), 10_000)
	z, err := zstd.NewWriter(nil)
	fail.On(t, err)
	// zstd:chunked begins with a frame of 4 bytes that readers skip.
	skippable := []byte{0x5f, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}
	for name, packed := range map[string][]byte{
		"plain": data, "gzip": zipped(t, data), "zstd": z.EncodeAll(data, nil), "chunked": append(skippable, z.EncodeAll(data, nil)...),
	} {
		b := &blob{Reader: bytes.NewReader(packed)}
		sum, err := Read(b, NewBudget(1<<20), func(r io.Reader) error {
			head := make([]byte, 6)
			_, err := io.ReadFull(r, head)
			if string(head) != "layer " {
				t.Errorf("%s begins with %q", name, head)
			}
			return err
		})
		if err != nil || sum != digest.FromBytes(data) || !b.closed {
			t.Errorf("%s: %s, %v, closed: %t", name, sum, err, b.closed)
		}
	}
}

func TestReadErrors(t *testing.T) {
	data := bytes.Repeat([]byte{0}, 1<<20)
	wrong := errors.New("wrong bytes")
	nothing := func(io.Reader) error { return nil }
	for _, tc := range []struct {
		name string
		blob io.Reader
		read func(io.Reader) error
		want error
	}{
		{"a bomb", bytes.NewReader(zipped(t, data)), nothing, ErrTooLarge},
		{"what the blob says at its end", io.MultiReader(strings.NewReader("tar"), failing{wrong}), nothing, wrong},
		{"what the reader says", strings.NewReader("tar"), func(io.Reader) error { return wrong }, wrong},
		{"a gzip that is cut off", bytes.NewReader(zipped(t, data)[:100]), nothing, io.ErrUnexpectedEOF},
	} {
		b := &blob{Reader: tc.blob}
		if _, err := Read(b, NewBudget(1<<19), tc.read); !errors.Is(err, tc.want) || !b.closed {
			t.Errorf("%s: %v, closed: %t, want %v", tc.name, err, b.closed, tc.want)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestIsType(t *testing.T) {
	for mediaType, want := range map[string]bool{
		"application/vnd.oci.image.layer.v1.tar":                       true,
		"application/vnd.oci.image.layer.v1.tar+gzip":                  true,
		"application/vnd.oci.image.layer.v1.tar+zstd":                  true,
		"application/vnd.docker.image.rootfs.diff.tar.gzip":            true,
		"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip":    true,
		"application/vnd.oci.image.layer.v1.tar+gzip+encrypted":        false,
		"application/vnd.dev.cosign.simplesigning.v1+json":             false,
		"application/vnd.in-toto+json":                                 false,
		"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip": true,
		"application/vnd.cncf.helm.chart.content.v1.tar+gzip":          false,
	} {
		if got := IsType(mediaType); got != want {
			t.Errorf("IsType(%q) = %t", mediaType, got)
		}
	}
}
