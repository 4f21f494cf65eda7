package archive

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestMeasureOnce checks that a short file is made once, and that a long one is made again and not kept.
func TestMeasureOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ size, made int }{{0, 1}, {keptFile, 1}, {keptFile + 1, 2}, {3 * keptFile, 2}} {
		want, made := bytes.Repeat([]byte("x"), tc.size), 0
		same, d, size, err := WriteFunc(func(w io.Writer) error {
			made++
			for part := range slices.Chunk(want, 1000) {
				if _, err := w.Write(part); err != nil {
					return err
				}
			}
			return nil
		}).measureOnce()
		fail.On(t, err)
		var got bytes.Buffer
		fail.On(t, same(&got))
		if !bytes.Equal(got.Bytes(), want) || d != digest.FromBytes(want) || size != int64(tc.size) || made != tc.made {
			t.Errorf("%d bytes: got %d with the digest %s, made %d times", tc.size, got.Len(), d, made)
		}
	}
}
