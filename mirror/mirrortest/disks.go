package mirrortest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Once returns an action that calls do before the first request. All requests are answered as usual.
func Once(do func()) registrytest.Action {
	var first sync.Once
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		first.Do(do)
		next.ServeHTTP(w, r)
	}
}

// Medium mounts a file system of the given size in MiB, which a test may fill. It skips the test if mounting is not
// possible.
func (s *Site) Medium(name string, size int) string {
	s.T.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		s.T.Skip("mounting needs Linux and root")
	}
	dir := s.Path(name)
	fail.On(s.T, os.Mkdir(dir, 0o755))
	if out, err := exec.CommandContext(s.T.Context(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", size), "tmpfs", dir).CombinedOutput(); err != nil {
		s.T.Skipf("mounting: %v: %s", err, out)
	}
	s.T.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil { //nolint:noctx // the context of the test ended
			s.T.Errorf("unmounting: %v: %s", err, out)
		}
	})
	return dir
}

// Filler fills the disk of a folder with a file, and returns what removes it.
func (s *Site) Filler(dir string) (fill, free func()) {
	name := filepath.Join(dir, "filler")
	fill = func() {
		f, err := os.Create(name)
		if err != nil {
			s.T.Error(err)
			return
		}
		for _, size := range []int{64 << 10, 512} {
			for err = nil; err == nil; {
				_, err = f.Write(make([]byte, size))
			}
		}
		_ = f.Close() // the disk is full
	}
	return fill, func() {
		if err := os.Remove(name); err != nil {
			s.T.Error(err)
		}
	}
}
