//go:build unix

package signing

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestKnownPlan checks that a comparison does not take the plan out of a pipe.
func TestKnownPlan(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if KnownPlan(pipe) != nil {
		t.Error("an absent file has a plan")
	}
	fail.On(t, syscall.Mkfifo(pipe, 0o600))
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	fail.On(t, err)
	_, err = f.WriteString(smallPlan)
	fail.On(t, err)
	if KnownPlan(pipe) != nil {
		t.Error("the plan was taken out of the pipe")
	}
	in, err := os.Open(pipe)
	fail.On(t, err)
	defer in.Close()
	fail.On(t, f.Close())
	file := filepath.Join(t.TempDir(), "plan.json")
	b := make([]byte, len(smallPlan)+1)
	n, err := in.Read(b)
	fail.On(t, err)
	fail.Diff(t, smallPlan, string(b[:n]))
	fail.On(t, os.WriteFile(file, b[:n], 0o600))
	if p := KnownPlan(file); p == nil || p.Name != "x" {
		t.Errorf("the plan is %+v", p)
	}
}
