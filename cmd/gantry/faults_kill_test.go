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

// endTime bounds how long the program takes to end when it is asked to. It aims
// at five seconds; machines that run tests are slow.
const endTime = 30 * time.Second

// journalled is how many blobs the journal of a run names.
func (s *storm) journalled(t *testing.T, name string) int {
	t.Helper()
	if s.way == toArchive {
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

// inPlace are those of the blobs that an archive which is being written has, as
// its journal says. Where it is finished that is all.
func (s *storm) inPlace(t *testing.T, name string, blobs []digest.Digest) []digest.Digest {
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

// start runs the real program and waits until that many blobs have come and, at
// least, one was asked for or is being read.
func (s *storm) start(t *testing.T, name string, blobs int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, stderr := s.process(t.Context(), s.args(name)...), &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if s.way != fromArchive {
		s.waitFor("/blobs/sha256")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < blobs; {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%d blobs came", n)
		}
		n = s.journalled(t, name)
	}
	return cmd, stderr
}

// hold lets the large blob get stuck on its way, late.
func (s *storm) hold() {
	if s.way == toArchive {
		s.source.Script(rt.Rule{Method: http.MethodGet, Path: "/blobs/" + s.large.String(), Action: rt.Stall(largeSize - 1000)})
		return
	}
	s.mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Query: s.large.Encoded(), Action: rt.NoAnswer()})
}

// again runs the program once more, undisturbed, and wants all to be there.
func (s *storm) again(t *testing.T, d *disturbance) {
	t.Helper()
	s.source.Script()
	s.mirror.Script()
	d.afterFault(t)
	s.forget()
	if o, _ := s.run(d.name, &leapClock{}, 30*time.Second); o.code != exitOK {
		t.Fatalf("another run ended with %d:\n%s", o.code, o.stderr)
	}
	d.open = false // it has cancelled what the first left
	d.afterAnother(t)
}

// TestKilled kills the real program while the large blob is on its way and all
// others have come, on the ways to a registry, and runs it again.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, s := range newStorms(t, toRegistry, fromArchive) {
		t.Run(s.way, func(t *testing.T) {
			s.forget()
			s.hold()
			cmd, _ := s.start(t, "killed", len(s.carried)-1)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			s.again(t, &disturbance{storm: s, name: "killed", open: true})
		})
	}
}

// TestKilledWritingAnArchive kills the real program at several moments while it
// writes an archive, and runs it again: what was in its place is not read again,
// and the archive is that of an undisturbed run.
func TestKilledWritingAnArchive(t *testing.T) {
	t.Parallel()
	s := newStorms(t, toArchive)[0]
	nth := func(n int) rt.Rule {
		return rt.Rule{Method: http.MethodGet, Path: "/blobs/sha256", Nth: n, Action: rt.Stall(10)}
	}
	all := len(s.carried)
	for _, tc := range []struct {
		name  string
		rules []rt.Rule
		blobs int // that have come
	}{
		{"first", []rt.Rule{nth(1)}, 0},
		{"middle", []rt.Rule{nth(all / 2)}, all / 2},
		{"large", []rt.Rule{{Method: http.MethodGet, Path: "/blobs/" + s.large.String(), Action: rt.Stall(largeSize - 1000)}}, all - 1},
		{"end", nil, all}, // while names are given, or thereafter
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.forget()
			s.source.Script(tc.rules...)
			cmd, stderr := s.start(t, tc.name, tc.blobs)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			s.source.Script()
			dir := s.to(tc.name)
			if final, _ := filepath.Glob(filepath.Join(dir, "gantry-*")); len(final) > 0 && tc.rules != nil {
				t.Errorf("half an archive stands under final names: %v\n%s", final, stderr.String())
			}
			checkDisk(t, dir)
			had := s.inPlace(t, tc.name, s.carried)
			if len(had) < tc.blobs {
				t.Errorf("%d blobs are in their place, want %d", len(had), tc.blobs)
			}

			s.forget()
			if o, _ := s.run(tc.name, &leapClock{}, 30*time.Second); o.code != exitOK {
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
					t.Errorf("%s was in its place and was read again", b)
				}
				delete(read, b)
			}
			for b, n := range read {
				if n > 1 {
					t.Errorf("%s was read %d times", b, n)
				}
			}
			if len(had)+len(read) != all {
				t.Errorf("%d blobs were there and %d were read, want %d in all", len(had), len(read), all)
			}
			if diff := cmp.Diff(filesOf(t, s.calm), filesOf(t, dir)); diff != "" {
				t.Errorf("not the archive of an undisturbed run (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInterruptedInTheMiddle asks the real program to end, as Ctrl-C does, while
// the large blob is on its way and all others have come. It ends soon, says so,
// leaves no upload open, and another run brings what is missing.
func TestInterruptedInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, s := range newStorms(t, toRegistry, toArchive, fromArchive) {
		t.Run(s.way, func(t *testing.T) {
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
			s.again(t, &disturbance{storm: s, name: "ended"})
		})
	}
}
