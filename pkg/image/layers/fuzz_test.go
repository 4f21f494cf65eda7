package layers

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzRead reads blobs of strangers: gzip, zstd and others. No more is unpacked than the budget permits.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte("text"))
	fail.On(f, err)
	fail.On(f, z.Close())
	f.Add(b.Bytes())
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 4, 0, 1, 0, 0, 0x99, 0xe9, 0xd8, 0x51})
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0})
	f.Add([]byte("plain"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		const most = 1 << 16
		var n int64
		_, err := Read(io.NopCloser(bytes.NewReader(raw)), NewBudget(most), func(r io.Reader) (err error) {
			n, err = io.Copy(io.Discard, r)
			return err
		})
		if n > most || n == most && err == nil && len(raw) > most {
			t.Fatalf("%d bytes were unpacked: %v", n, err)
		}
	})
}
