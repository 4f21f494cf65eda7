package registrytest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestRepositories(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Alone: true})
	idx, err := Index("contents")
	fail.On(t, err)
	c := s.Client()
	d, err := c.Push(t.Context(), "one/deep/app", "v1", idx)
	fail.On(t, err)
	_, err = c.Push(t.Context(), "other/app", "v1", idx)
	fail.On(t, err)
	all, err := s.Repositories("one")
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	r := all[0]
	if r.Name != "one/deep/app" || r.Tags["v1"] != d || len(r.Tags) != 1 || len(r.Manifests) != 3 || len(r.Blobs) < 6 || r.Uploads != 0 {
		t.Errorf("%+v", r)
	}
	if none, err := s.Repositories("nothing"); err != nil || len(none) > 0 {
		t.Errorf("%+v, %v", none, err)
	}
	fail.On(t, c.CheckRepository(t.Context(), r))
	// CheckRepository finds damage: a truncated blob, and a tag with another digest.
	wrong := r
	wrong.Tags = map[string]digest.Digest{"v1": digest.FromString("other")}
	if err := c.CheckRepository(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "stored as") {
		t.Errorf("a tag of another digest: %v", err)
	}
	blob := r.Blobs[0].Encoded()
	file := filepath.Join(s.process.storage(), "blobs", "sha256", blob[:2], blob, "data")
	text, err := os.ReadFile(file)
	fail.On(t, err)
	text[0] ^= 1
	fail.On(t, os.WriteFile(file, text, 0o600))
	if err := c.CheckRepository(t.Context(), r); err == nil || !strings.Contains(err.Error(), errWrongDigest.Error()) {
		t.Errorf("an altered blob: %v", err)
	}
}
