package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// journalled is how many blobs the journal of a run names.
func (s *storm) journalled(t *testing.T, name string) int {
	t.Helper()
	files, err := filepath.Glob(s.path("workspace-" + name + "/journal/*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, ".uploads.txt") {
			n += strings.Count(string(text), "sha256:")
		}
	}
	return n
}

// TestKilled kills the real program while the large blob is on its way and all
// others have come, on the ways to a registry, and runs it again.
func TestKilled(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range newStorms(t, toRegistry, fromArchive) {
		t.Run(s.way, func(t *testing.T) {
			s.forget()
			s.mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Query: s.large.Encoded(), Action: rt.NoAnswer()})
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program, s.args("killed")...)
			cmd.Stderr = &stderr
			cmd.Env = append(os.Environ(), asProgram+"=1")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			d := &disturbance{storm: s, name: "killed", open: true}
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for n := 0; n < 7; { // configs and layers but the large one
				select {
				case <-tick.C:
				case <-t.Context().Done():
					t.Fatalf("%d blobs came:\n%s", n, stderr.String())
				}
				n = s.journalled(t, "killed")
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			s.mirror.Script()
			d.afterFault(t)
			s.forget()
			if o, _ := s.run("killed", &leapClock{}, 30*time.Second); o.code != exitOK {
				t.Fatalf("another run ended with %d:\n%s", o.code, o.stderr)
			}
			d.open = false // it has cancelled what the first left
			d.afterAnother(t)
		})
	}
}
