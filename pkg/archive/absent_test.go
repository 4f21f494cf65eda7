package archive

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestAbsentContent(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	s.write(t, dir, Options{})
	a := mustOpen(t, dir)
	absent := ocispec.Descriptor{Digest: digest.FromString("absent"), Size: 6}
	if _, err := a.Blob(t.Context(), "", absent, 0); a.Has(absent) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Blob = %v", err)
	}
	if _, _, err := a.Manifest(t.Context(), "", absent.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Manifest = %v", err)
	}
	longer := s.Entries[0]
	longer.Size++
	if _, err := a.Blob(t.Context(), "", longer, 0); a.Has(longer) || err == nil {
		t.Errorf("Blob of another size = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.OpenPlan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenPlan = %v, want it cancelled", err)
	}
}
