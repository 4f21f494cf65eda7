package zlib_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
)

func BenchmarkWriter(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		b.Fatal(err)
	}
	program = program[:min(len(program), 4<<20)]
	inputs := map[string][]byte{"text": content("text", 4<<20, 1), "program": program}
	for name, data := range inputs {
		for _, level := range []int{1, 3, 5, 6, 7, 9} {
			b.Run(fmt.Sprintf("%s/%d", name, level), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					w, err := zlib.NewWriter(io.Discard, zlib.Options{Level: level})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := w.Write(data); err != nil {
						b.Fatal(err)
					}
					if err := w.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
