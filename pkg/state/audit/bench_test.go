package audit

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// BenchmarkVerify verifies a log of 100,000 entries, as a mirror with 20 entries each night has after 13 years,
// and BenchmarkAppend adds one to it.
func BenchmarkVerify(b *testing.B) {
	text, head, _ := largeLog(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r, err := Verify(bytes.NewReader(text), head, 20); err != nil || r.Entries != largeEntries || len(r.Problems) > 0 {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	_, head, root := largeLog(b)
	for b.Loop() {
		l := New(root, name, head, func(h Head) error { head = h; return nil })
		fail.On(b, l.Append(start, Entry{Time: start, Event: RunBegan, Subject: "mirror"}))
	}
}

const largeEntries = 100_000

func largeLog(b *testing.B) (text []byte, head Head, root *os.Root) {
	b.Helper()
	root, err := os.OpenRoot(b.TempDir())
	fail.On(b, err)
	b.Cleanup(func() { _ = root.Close() })
	l := New(root, name, head, func(h Head) error { head = h; return nil })
	for n := 0; n < largeEntries; n += 1000 {
		var entries []Entry
		for i := range 1000 {
			entries = append(entries, Entry{Time: start.Add(time.Duration(n+i) * time.Hour), Event: ImageFailed, Subject: fmt.Sprintf("quay.io/vendor/image-%d@sha256:4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c4f2c", n+i), Message: "the source does not have it: 404 MANIFEST_UNKNOWN"})
		}
		fail.On(b, l.Append(start, entries...))
	}
	file, err := root.ReadFile(name)
	fail.On(b, err)
	return file, head, root
}
