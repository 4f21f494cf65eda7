package main

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// endTime limits how long tests wait for the program, for example until it ends after a signal. It ends
// within two seconds (TestInterrupt), but machines that run tests are slow.
const endTime = 30 * time.Second

// journalled returns how many blobs are in the journal of a run, or of an unfinished archive.
func (s *faultFixture) journalled(name string) (n int) {
	s.t.Helper()
	for _, file := range append(s.glob(s.path("workspace-"+name+"/journal/*")), s.glob(filepath.Join(s.to(name), ".gantry-partial", "journal"))...) {
		text := readText(s.t, file)
		switch {
		case s.direction != toArchive && !strings.HasSuffix(file, ".uploads.txt"):
			n += strings.Count(text, "sha256:")
		case s.direction == toArchive:
			for _, b := range s.carried {
				for line := range strings.Lines(text) {
					if d, whole := strings.CutSuffix(strings.TrimPrefix(line, "sha256:"), "\n"); whole && d != "" && strings.HasPrefix(b.Encoded(), d) {
						n++
						break
					}
				}
			}
		}
	}
	return n
}

// start runs the real program and waits until this number of blobs is complete. If it reads from a
// registry, it also waits until at least one blob was requested.
func (s *faultFixture) start(t *testing.T, name string, blobs int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, stderr := s.process(t.Context(), s.args(name)...), &bytes.Buffer{}
	cmd.Stderr = stderr
	fail.On(t, cmd.Start())
	if s.direction != fromArchive {
		s.waitFor("/blobs/sha256")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	// An upload whose start was not answered is not in the journal, so that nothing cancels it.
	held := func() bool {
		return s.direction == toArchive || slices.ContainsFunc(s.mirror.Log(), func(r rt.Request) bool { return r.Faulted })
	}
	for n := 0; n < blobs || !held(); {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%d blobs were copied", n)
		}
		n = s.journalled(name)
	}
	return cmd, stderr
}

// kill kills the program. What it sent is not served after that.
func (s *faultFixture) kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	fail.On(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	for _, server := range []*rt.Server{s.source, s.mirror} {
		server.Shut()
		server.Open()
	}
}

// hold makes the copy of the large blob stall near its end.
func (s *faultFixture) hold() {
	if s.direction == toArchive {
		s.source.Script(rt.Rule{Method: http.MethodGet, Path: "/blobs/" + s.large.String(), Action: rt.Stall(largeSize - 1000)})
		return
	}
	s.mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Query: s.large.Encoded(), Action: rt.NoResponse()})
}

// again runs the program once more, without faults, and checks that the result is complete.
func (s *faultFixture) again(t *testing.T, d *faultCheck) {
	t.Helper()
	s.source.Script()
	s.mirror.Script()
	d.afterFault(t)
	s.forget()
	if o, _ := s.run(d.name, &skipClock{}, 30*time.Second); o.code != exitOK {
		t.Fatalf("another run ended with %d:\n%s", o.code, o.stderr)
	}
	d.open = false // the run has canceled the uploads that the first run left open
	d.afterAnother(t)
}

// TestKilled kills the real program, or sends it the signal of Ctrl-C, while it copies the large blob, after all other
// blobs, and runs it again. After the signal, it ends soon, prints that it was interrupted and leaves no upload open.
func TestKilled(t *testing.T) {
	t.Parallel()
	directions := []string{toRegistry, fromArchive, toArchive}
	if short(t) {
		directions = directions[:2] // package archive is killed in tests of its own
	}
	for _, s := range newFaultFixtures(t, directions...) {
		t.Run(s.direction, func(t *testing.T) {
			s.forget()
			s.hold()
			cmd, _ := s.start(t, "killed", len(s.carried)-1)
			s.kill(t, cmd)
			s.again(t, &faultCheck{faultFixture: s, name: "killed", open: true})
			if testing.Short() {
				return
			}
			s.forget()
			s.hold()
			cmd, stderr := s.start(t, "ended", len(s.carried)-1)
			late := time.AfterFunc(endTime, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			fail.On(t, cmd.Process.Signal(syscall.SIGINT))
			err := cmd.Wait()
			if cmd.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(stderr.String(), "run the same command again") {
				t.Fatalf("%v, want %d within %s:\n%s", err, exitInterrupted, endTime, stderr.String())
			}
			s.again(t, &faultCheck{faultFixture: s, name: "ended"})
		})
	}
}
