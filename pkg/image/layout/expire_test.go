package layout

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestExpire(t *testing.T) {
	dir := t.TempDir()
	l, err := Create(dir, Options{NoSync: true})
	fail.On(t, err)
	now := time.Now()
	put := func(text string, age time.Duration) ocispec.Descriptor {
		desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
		fail.On(t, l.Put(t.Context(), desc, bytes.NewReader([]byte(text))))
		path := filepath.Join(dir, "blobs", "sha256", desc.Digest.Encoded())
		fail.On(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
		return desc
	}
	small, old, young := put("small", time.Hour), put("large and old", time.Hour), put("large and young", time.Second)
	fail.On(t, l.Expire(now.Add(-time.Minute), 10))
	if l.Has(old) || !l.Has(young) || !l.Has(small) {
		t.Errorf("after Expire: old %v, young %v, small %v; want the old one gone", l.Has(old), l.Has(young), l.Has(small))
	}
	_, err = l.Index()
	fail.On(t, err)
}
