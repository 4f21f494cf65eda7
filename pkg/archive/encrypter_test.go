package archive

import (
	"io"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestPadme(t *testing.T) {
	for size := int64(1); size < 1<<45; size += 1 + size/7 {
		n := padme(size)
		if n < size || float64(n-size) > 0.12*float64(size) || padme(n) != n {
			t.Errorf("padme(%d) = %d", size, n)
		}
	}
	for _, tc := range [][2]int64{{9, 10}, {1000, 1024}, {4097, 4352}, {1_000_000, 1_015_808}} {
		fail.Diff(t, tc[1], padme(tc[0]))
	}
}

func TestSealer(t *testing.T) {
	enc, err := newEncrypter(person(t).Recipient(), 1<<30)
	fail.On(t, err)
	for size := int64(0); size < 300_000; size += 1 + size/97 {
		r, err := enc.encrypt(io.LimitReader(zeros{}, size), size, enc.encryptedSize(size))
		fail.On(t, err)
		n, err := io.Copy(io.Discard, r)
		if err != nil || n != enc.encryptedSize(size) || enc.contentSize(n) != size {
			t.Fatalf("%d bytes are %d encrypted, not %d: %v", size, n, enc.encryptedSize(size), err)
		}
		for room := n; room < n+20; room++ {
			if most := enc.maxContent(room); most < size || enc.encryptedSize(most) > room {
				t.Fatalf("%d bytes have room for %d", room, most)
			}
		}
	}
}
