package delta

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// versions returns two versions of content like a program's: instructions with relative addresses. Blocks of them moved.
func versions(n int) (base, target []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	base = sampleKind(r, 0, n/2)
	base = append(base, sampleKind(r, 1, n-n/2)...)
	return base, edit(r, base, 60)
}

func BenchmarkEncode(b *testing.B) {
	base, target := versions(8 << 20)
	for name, e := range map[string]Effort{"Auto": Auto, "Max": Max} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(target)))
			b.ReportAllocs()
			for b.Loop() {
				d, _ := encode(b, target, Options{Effort: e}, base)
				b.ReportMetric(float64(len(d)), "delta-bytes")
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	base, target := versions(8 << 20)
	d, _ := encode(b, target, Options{}, base)
	b.SetBytes(int64(len(target)))
	b.ReportAllocs()
	for b.Loop() {
		open := func(int, BaseInfo) (io.ReaderAt, error) { return bytes.NewReader(base), nil }
		_, err := Decode(b.Context(), io.Discard, bytes.NewReader(d), open, DecodeOptions{})
		fail.On(b, err)
	}
}

func BenchmarkIndex(b *testing.B) {
	content := layer(b, file{"a", random(1, 4<<20)}, file{"b", random(2, 4<<20)})
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := Index(bytes.NewReader(content), int64(len(content)))
		fail.On(b, err)
	}
}
