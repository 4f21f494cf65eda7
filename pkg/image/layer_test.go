package image

import (
	"bytes"
	"context"
	"io"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// discard is a store that keeps nothing.
type discard struct{}

func (discard) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	return ocispec.Descriptor{MediaType: mediaType}, write(io.Discard)
}

func BenchmarkWriteLayer(b *testing.B) {
	line := []byte(`{"schema":"olm.bundle","package":"a","name":"a.v1.0.0","image":"example.com/a"}` + "\n")
	l := NewLayer()
	l.AddDirectory("configs", nil)
	fail.On(b, l.AddFile("configs", "a.json", bytesFile(bytes.Repeat(line, 50<<20/len(line)))))
	b.SetBytes(50 << 20)
	for b.Loop() {
		_, _, err := l.write(b.Context(), discard{}, dockerLayer)
		fail.On(b, err)
	}
}
