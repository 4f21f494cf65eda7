//go:build amd64 || arm64

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A volume is an ext4 file system in a file. What programs did not sync is not in the file until the kernel writes it.
type volume struct {
	t           *testing.T
	image, site string
}

const volumeSize = 64 << 20

// newVolume mounts an empty file system, or skips the test where that is not permitted.
func newVolume(t *testing.T) *volume {
	t.Helper()
	dir := rt.TempDir(t)
	v := &volume{t: t, image: filepath.Join(dir, "image"), site: filepath.Join(dir, "mounted", "site")}
	fail.On(t, os.WriteFile(v.image, nil, 0o600))
	fail.On(t, os.Truncate(v.image, volumeSize))
	fail.On(t, os.Mkdir(filepath.Dir(v.site), 0o755))
	for _, command := range [][]string{{"mkfs.ext4", "-q", v.image}, {"mount", "-o", "loop", v.image, filepath.Dir(v.site)}} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no ext4 file system can be mounted here: %v %s", err, out)
		}
	}
	t.Cleanup(func() { fail.On(t, unix.Unmount(filepath.Dir(v.site), 0)) })
	return v
}

func (v *volume) sync() {
	v.t.Helper()
	folder, err := os.Open(v.site)
	fail.On(v.t, err)
	fail.On(v.t, unix.Syncfs(int(folder.Fd())))
	fail.On(v.t, folder.Close())
}

// losePower replaces the file system by what is in its file now.
func (v *volume) losePower() error {
	mounted := filepath.Dir(v.site)
	for _, command := range [][]string{
		{"cp", "--sparse=always", v.image, v.image + ".lost"}, {"umount", mounted}, {"mv", v.image + ".lost", v.image},
		{"mount", "-o", "loop", v.image, mounted}, {"umount", mounted}, {"e2fsck", "-fn", v.image}, {"mount", "-o", "loop", v.image, mounted},
	} {
		if out, err := exec.CommandContext(v.t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			v.t.Errorf("%q: %s", command, out)
			return err
		}
	}
	return nil
}

// TestExt4 is TestCrashes for power failures on ext4, which leaves what it leaves: at a twentieth of the points, and at the end.
func TestExt4(t *testing.T) {
	t.Parallel()
	if mirrortest.Short(t) {
		t.Skip("a long test (make test-long)")
	}
	v := newVolume(t)
	r := newCrashReport(t)
	r.skip(t)
	for _, name := range crashWorkflows {
		t.Run(name, func(t *testing.T) {
			fail.On(t, os.Mkdir(v.site, 0o755))
			defer func() { fail.On(t, os.RemoveAll(v.site)) }()
			s := newCrashSite(t, v.site, r.program, name)
			for _, point := range append(r.points(max(1, r.kills/20), s.points()), 0) {
				t.Run(fmt.Sprint(point), func(t *testing.T) {
					c := s.cell(t)
					c.putBack()
					v.sync()
					what := c.lose(point, nil, v.losePower)
					c.check()
					t.Logf("it was at %q, point %d of %d", what, point, s.points())
				})
			}
		})
	}
}
