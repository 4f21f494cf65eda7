package payload

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// one is an image.Reader of a single layer.
type one []byte

func (o one) Manifest(context.Context, string, digest.Digest) (ocispec.Descriptor, []byte, error) {
	return ocispec.Descriptor{}, nil, fs.ErrNotExist
}

func (o one) Blob(context.Context, string, ocispec.Descriptor, int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(o)), nil
}

// FuzzLayer reads any bytes as a layer. It checks that an accepted release has both files with
// their actual sizes, and that reading only the metadata gives the same result.
func FuzzLayer(f *testing.F) {
	f.Add(pack(f, releaseLayer(f, "4.20.5", entry{"release-manifests/a.yaml", policyText})))
	f.Add(pack(f, []entry{{"release-manifests/.wh.a", ""}, {referencesFile, "-> a"}, {".wh..wh..opq", ""}}))
	for _, how := range []string{"gzip", "zstd"} {
		data, _ := compressed(f, pack(f, releaseLayer(f, "4.20.5")), how)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		left := layers.NewBudget(1 << 22)
		diffID, err := layers.Read(io.NopCloser(bytes.NewReader(data)), left, func(io.Reader) error { return nil })
		if err != nil {
			return
		}
		img := &releaseImage{layers: []layer{{ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer}, diffID}}}
		r := reader{src: one(data)}
		all, at, err := r.manifests(t.Context(), img, needed)
		if err != nil {
			return
		}
		if at != 0 || all.references == nil || all.metadata == nil {
			t.Fatalf("it is a release without %q or %q", all.references, all.metadata)
		}
		brief, _, err := r.manifests(t.Context(), img, onlyMetadata)
		if err != nil || !bytes.Equal(brief.metadata, all.metadata) || brief.references != nil || brief.manifests != nil {
			t.Fatalf("in part: %+v, %v", brief, err)
		}
	})
}
