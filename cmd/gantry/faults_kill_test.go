package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// endTime limits how long tests wait for the program, for example until it ends after a signal. It ends
// within two seconds (TestInterrupt), but machines that run tests are slow.
const endTime = 30 * time.Second

// journalled returns how many blobs are in the journal of a run.
func (s *faultFixture) journalled(t *testing.T, name string) int {
	t.Helper()
	if s.direction == toArchive {
		return len(s.inPlace(t, name, s.carried))
	}
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

// inPlace returns which of the blobs an unfinished archive has, according to its journal. If the
// archive is finished, it returns all of them.
func (s *faultFixture) inPlace(t *testing.T, name string, blobs []digest.Digest) []digest.Digest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.to(name), ".gantry-partial", "journal"))
	if errors.Is(err, os.ErrNotExist) {
		if sets, _ := filepath.Glob(filepath.Join(s.to(name), "gantry-*.json")); len(sets) > 0 {
			return blobs
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []digest.Digest
	for line := range strings.Lines(string(text)) {
		line, whole := strings.CutSuffix(line, "\n")
		for _, b := range blobs {
			if d := strings.TrimPrefix(line, "sha256:"); whole && d != "" && strings.HasPrefix(b.Encoded(), d) {
				all = append(all, b)
			}
		}
	}
	return all
}

// start runs the real program and waits until this number of blobs is complete. If it reads from a
// registry, it also waits until at least one blob was requested.
func (s *faultFixture) start(t *testing.T, name string, blobs int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, stderr := s.process(t.Context(), s.args(name)...), &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if s.direction != fromArchive {
		s.waitFor("/blobs/sha256")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < blobs; {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%d blobs were copied", n)
		}
		n = s.journalled(t, name)
	}
	return cmd, stderr
}

// kill kills the program. What it sent is not served after that.
func (s *faultFixture) kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
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

// TestKilled kills the real program while it copies the large blob to a registry, after all other
// blobs, and runs it again.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, s := range newFaultFixtures(t, toRegistry, fromArchive) {
		t.Run(s.direction, func(t *testing.T) {
			s.forget()
			s.hold()
			cmd, _ := s.start(t, "killed", len(s.carried)-1)
			s.kill(t, cmd)
			s.again(t, &faultCheck{faultFixture: s, name: "killed", open: true})
		})
	}
}

// TestKilledWritingAnArchive kills the real program at several moments while it writes an archive,
// and runs it again. Content that the archive already has is not read again, and the archive equals
// the one of an uninterrupted run.
func TestKilledWritingAnArchive(t *testing.T) {
	t.Parallel()
	long(t)
	s := newFaultFixtures(t, toArchive)[0]
	nth := func(n int) rt.Rule {
		return rt.Rule{Method: http.MethodGet, Path: "/blobs/sha256", Nth: n, Action: rt.Stall(10)}
	}
	all := len(s.carried)
	for _, tc := range []struct {
		name  string
		rules []rt.Rule
		blobs int // that are complete
	}{
		{"first", []rt.Rule{nth(1)}, 0},
		{"middle", []rt.Rule{nth(all / 2)}, all / 2},
		{"large", []rt.Rule{{Method: http.MethodGet, Path: "/blobs/" + s.large.String(), Action: rt.Stall(largeSize - 1000)}}, all - 1},
		{"end", nil, all}, // while or after files get their final names
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.forget()
			s.source.Script(tc.rules...)
			cmd, stderr := s.start(t, tc.name, tc.blobs)
			s.kill(t, cmd)
			s.source.Script()
			dir := s.to(tc.name)
			if final, _ := filepath.Glob(filepath.Join(dir, "gantry-*")); len(final) > 0 && tc.rules != nil {
				t.Errorf("an unfinished archive has final names: %v\n%s", final, stderr.String())
			}
			checkArchive(t, dir)
			had := s.inPlace(t, tc.name, s.carried)
			if len(had) < tc.blobs {
				t.Errorf("%d blobs are complete, want %d", len(had), tc.blobs)
			}

			s.forget()
			if o, _ := s.run(tc.name, &skipClock{}, 30*time.Second); o.code != exitOK {
				t.Fatalf("another run ended with %d:\n%s", o.code, o.stderr)
			}
			read := map[digest.Digest]int{}
			for _, r := range s.source.Log() {
				if r.Kind() == "GET blob" {
					read[r.Digest()]++
				}
			}
			for _, b := range had {
				if read[b] > 0 {
					t.Errorf("%s was complete and was read again", b)
				}
				delete(read, b)
			}
			for b, n := range read {
				if n > 1 {
					t.Errorf("%s was read %d times", b, n)
				}
			}
			if len(had)+len(read) != all {
				t.Errorf("%d blobs were complete and %d were read, want %d in total", len(had), len(read), all)
			}
			if diff := cmp.Diff(filesOf(t, s.reference), filesOf(t, dir)); diff != "" {
				t.Errorf("different from the archive of an uninterrupted run (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInterruptedInTheMiddle sends the signal of Ctrl-C to the real program while it copies the
// large blob, after all other blobs. The program ends soon, prints that it was interrupted and
// leaves no upload open. Another run copies what is missing.
func TestInterruptedInTheMiddle(t *testing.T) {
	t.Parallel()
	long(t)
	for _, s := range newFaultFixtures(t, toRegistry, toArchive, fromArchive) {
		t.Run(s.direction, func(t *testing.T) {
			s.forget()
			s.hold()
			cmd, stderr := s.start(t, "ended", len(s.carried)-1)
			late := time.AfterFunc(endTime, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || !strings.Contains(stderr.String(), "run the same command again") {
				t.Fatalf("%v, want %d within %s:\n%s", err, exitInterrupted, endTime, stderr.String())
			}
			s.again(t, &faultCheck{faultFixture: s, name: "ended"})
		})
	}
}
