package sqlite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
)

// Reading any database ends, and returns an error or objects that form a catalog, the same every
// time. The arguments at and with damage an intact database, since most of its bytes are content.
func FuzzStream(f *testing.F) {
	whole, err := os.ReadFile(lantern(f).close())
	fail.On(f, err)
	page := uint32(binary.BigEndian.Uint16(whole[16:]))
	f.Add([]byte(nil), uint32(0), []byte(nil))
	f.Add([]byte("SQLite format 3\x00"), uint32(0), []byte(nil))
	f.Add(whole[:page], uint32(0), []byte(nil))
	for p := range uint32(8) {
		f.Add([]byte(nil), p*page, []byte{0x05, 0x00, 0x00, 0x00, 0x02})
		f.Add([]byte(nil), p*page+8, []byte{0xff, 0xff})
		f.Add([]byte(nil), (p+1)*page-40, bytes.Repeat([]byte{0x81}, 20))
	}
	f.Fuzz(func(t *testing.T, text []byte, at uint32, with []byte) {
		if len(text) == 0 {
			text = bytes.Clone(whole)
		}
		if int(at) < len(text) {
			copy(text[at:], with)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		stream := func() (metas []*catalog.Meta, err error) {
			return metas, sqlite.Reader{}.Stream(ctx, bytes.NewReader(text), func(m *catalog.Meta) error {
				metas = append(metas, m)
				return nil
			})
		}
		metas, err := stream()
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatal("reading does not end")
		}
		if err != nil {
			return
		}
		_, err = catalog.New(metas)
		fail.On(t, err)
		again, err := stream()
		if err != nil || len(again) != len(metas) {
			t.Fatalf("read %d objects, then %d, %v", len(metas), len(again), err)
		}
		for i, m := range metas {
			if !bytes.Equal(m.Raw, again[i].Raw) {
				t.Fatalf("read %s, then %s", m.Raw, again[i].Raw)
			}
		}
	})
}
