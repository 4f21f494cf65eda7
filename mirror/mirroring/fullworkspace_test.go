package mirroring_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestFullWorkspace checks runs whose workspace is full: when everything was copied and its state is saved, and before the
// first push, with the cache on another disk. The mirror is complete and has the record, and the next run has nothing to
// copy.
func TestFullWorkspace(t *testing.T) {
	t.Parallel()
	for path, cache := range map[string]string{
		`/gantry-image-sets/manifests/imageset\.t1\.`:            "",
		`/gantry-image-sets/manifests/sha256-[0-9a-f]*\.pending`: "cache",
	} {
		t.Run("cache "+cache, func(t *testing.T) {
			t.Parallel()
			s := mirrortest.New(t, registrytest.Options{})
			folder := filepath.Join(s.Medium("disk", 32), "workspace")
			fill, free := s.Filler(filepath.Dir(folder))
			if cache != "" {
				s.Env.CacheDir = s.Path(cache)
			}
			o := s.MirrorOptions(s.Operators("lantern"), s.Docker("site"))
			o.Workspace = folder
			s.Mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: path, Action: mirrortest.Once(fill)})
			_, err := mirroring.Run(t.Context(), o)
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("with a full workspace: %v", err)
			}
			s.Mirror.Script()
			s.VerifyCatalog("site", mirrortest.Acme, 1)
			v := verify.Options{Env: s.Env, Locations: []string{s.Docker("site")}, Workspace: s.Path("elsewhere")}
			_, err = verify.Run(t.Context(), v)
			fail.On(t, err)
			free()
			if r, err := mirroring.Run(t.Context(), o); err != nil || r.Report.Copied > 0 {
				t.Errorf("the next run: %+v, %v", r, err)
			}
			v.Workspace = folder
			_, err = verify.Run(t.Context(), v)
			fail.On(t, err)
			if status, err := workspace.Status(folder); err != nil || len(status.Runs) != 1 {
				t.Errorf("%+v, %v", status, err)
			}
		})
	}
}
