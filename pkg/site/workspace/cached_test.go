package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestCached checks that content that was built for a plan is used again only if it is whole, and that damaged content
// is removed.
func TestCached(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := workspace.OpenSession(newEnv(t), dir)
	fail.On(t, err)
	defer s.Release()
	put := func(text string) (d digest.Digest, size int64) {
		d, size = digest.FromString(text), int64(len(text))
		fail.On(t, s.Sources.Cache.Put(t.Context(), ocispec.Descriptor{Digest: d, Size: size}, strings.NewReader(text)))
		return d, size
	}
	m, mSize := put("manifest")
	layer, layerSize := put("layer")
	p := &plan.Plan{
		Manifests: []plan.Manifest{{Digest: m, MediaType: ocispec.MediaTypeImageManifest, Size: mSize, Blobs: []digest.Digest{layer}}},
		Blobs:     []plan.Blob{{Digest: layer, Size: layerSize}},
	}
	cached := func(layered bool) bool {
		t.Helper()
		ok, err := s.Cached(t.Context(), p, m, layered)
		fail.On(t, err)
		return ok
	}
	if !cached(false) || !cached(true) {
		t.Error("whole content is not used again")
	}
	file := filepath.Join(workspace.CacheDir(s.Env, dir), "blobs", "sha256", layer.Encoded())
	for _, layered := range []bool{true, false} {
		fail.On(t, os.WriteFile(file, []byte("lager"), 0o600))
		if cached(layered) {
			t.Error("damaged content is used again")
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("damaged content stayed")
		}
	}
	if cached(false) || !cached(true) {
		t.Error("only the layers of another image may be absent")
	}
}
