package layout

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestExpire(t *testing.T) {
	dir := t.TempDir()
	l, err := Create(dir, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	put := func(text string, age time.Duration) ocispec.Descriptor {
		desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
		if err := l.Put(t.Context(), desc, bytes.NewReader([]byte(text))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "blobs", "sha256", desc.Digest.Encoded())
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return desc
	}
	small, old, young := put("small", time.Hour), put("large and old", time.Hour), put("large and young", time.Second)
	if err := l.Expire(now.Add(-time.Minute), 10); err != nil {
		t.Fatal(err)
	}
	if l.Has(old) || !l.Has(young) || !l.Has(small) {
		t.Errorf("after Expire: old %v, young %v, small %v; want the old one gone", l.Has(old), l.Has(young), l.Has(small))
	}
	if _, err := l.Index(); err != nil {
		t.Errorf("the index afterwards: %v", err)
	}
}
