package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestWritten checks that a new cache finds what it wrote, that one with blobs finds those, and that what another process
// wrote to a new one does no harm.
func TestWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := func(text string) ocispec.Descriptor {
		return ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
	}
	create := func() *Layout {
		l, err := Create(dir, Options{NoSync: true})
		fail.On(t, err)
		return l
	}
	put := func(l *Layout, text string) {
		fail.On(t, l.Put(t.Context(), content(text), strings.NewReader(text)))
	}
	fresh, other := create(), create()
	put(fresh, "one")
	put(other, "two")
	if !fresh.Has(content("one")) || fresh.Has(content("three")) || !other.Has(content("one")) || !other.Has(content("two")) {
		t.Error("a cache does not find what it has")
	}
	put(fresh, "two")
	if raw, err := fresh.Read(t.Context(), content("two"), 10); err != nil || string(raw) != "two" || !fresh.Has(content("two")) {
		t.Errorf("%q, %v", raw, err)
	}
	if err := fresh.Remove(content("one")); err != nil || fresh.Has(content("one")) {
		t.Errorf("a removed blob: %v", err)
	}
	fail.On(t, os.Remove(filepath.Join(dir, ocispec.ImageLayoutFile)))
	if l := create(); l.written != nil || !l.Has(content("two")) {
		t.Error("a cache whose marker was lost does not find its blobs")
	}
}
