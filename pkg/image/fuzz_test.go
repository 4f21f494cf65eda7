package image

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// FuzzList lists layers of strangers. What is accepted is listed the same way again, and no more is read than the budget
// permits.
func FuzzList(f *testing.F) {
	tarOf := func(headers ...tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			h.Size = int64(len(h.Linkname) % 2)
			fail.On(f, w.WriteHeader(&h))
			_, err := w.Write([]byte("x")[:h.Size])
			fail.On(f, err)
		}
		fail.On(f, w.Close())
		return b.Bytes()
	}
	f.Add(tarOf(tar.Header{Name: "configs/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "configs/a", Typeflag: tar.TypeReg}, tar.Header{Name: "configs/.wh.b"}, tar.Header{Name: "configs/c/.wh..wh..opq"}))
	f.Add(tarOf(tar.Header{Name: "configs/../a", Typeflag: tar.TypeReg}, tar.Header{Name: "b", Typeflag: tar.TypeReg}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list := func() (*Listing, int64, error) {
			read := int64(0)
			l := Lister{Dir: "configs", Also: []string{"tmp"}, Sums: true, Budget: layers.NewBudget(1 << 16), File: func(_ string, r io.Reader) error {
				n, err := io.Copy(io.Discard, r)
				read += n
				return err
			}}
			found, err := l.List(bytes.NewReader(raw))
			return found, read, err
		}
		first, read, err := list()
		if read > 1<<16 {
			t.Fatalf("%d bytes were read", read)
		}
		second, _, again := list()
		if (err == nil) != (again == nil) {
			t.Fatalf("%v, then %v", err, again)
		}
		if err == nil {
			fail.Diff(t, first, second, cmp.AllowUnexported(Listing{}, entry{}), cmpopts.EquateEmpty())
		}
	})
}
