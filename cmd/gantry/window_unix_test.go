//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A pausedRun is a run in a process whose window ends while it copies.
type pausedRun struct {
	*fixture
	cmd   *exec.Cmd
	ended chan error
}

// setClock sets the time of the day of the process.
func (w *fixture) setClock(text string) {
	err := durable.Write(w.path("clock"), func(out io.Writer) error {
		_, err := io.WriteString(out, text)
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// startPaused starts a run to a prefix of the mirror, and returns when its window has ended after some blobs
// and nothing more is copied.
func (w *fixture) startPaused(prefix string) *pausedRun {
	t := w.t
	t.Helper()
	w.setClock("23:00")
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/", Nth: 8, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		w.setClock("05:00")
		next.ServeHTTP(rw, r)
	}})
	p := &pausedRun{fixture: w, ended: make(chan error, 1)}
	p.cmd = w.process(t.Context(), "mirror", "-c", w.path("imageset.yaml"), w.docker(prefix), "--workspace", w.path("ws"+prefix),
		"--window", "22:00-05:00", "--parallel-images", "1", "--parallel-layers", "1")
	p.cmd.Env = append(p.cmd.Env, clockFile+"="+w.path("clock"))
	stderr, err := os.Create(w.path("stderr" + prefix[1:]))
	fail.On(t, err)
	t.Cleanup(func() { _ = stderr.Close() })
	p.cmd.Stderr = stderr
	fail.On(t, p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait() }()
	p.await("it does not pause", func() bool { return strings.Contains(p.said(), "nothing new begins until ") })
	// What was being copied is completed, and then nothing more is requested.
	copied := p.copied()
	p.await("it does not stop copying", func() bool {
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // a test waits for a process
		before := copied
		copied = p.copied()
		return copied == before
	})
	return p
}

func (p *pausedRun) said() string {
	for _, e := range p.cmd.Args {
		if prefix, ok := strings.CutPrefix(e, p.docker("/")); ok {
			return p.read("stderr" + prefix)
		}
	}
	return ""
}

// copied returns how many blobs and manifests were requested from the source or pushed to the mirror.
func (p *pausedRun) copied() (n int) {
	n = p.source.Requests()["GET blob"]
	for _, r := range p.mirror.Log() {
		if (r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodPatch) && !strings.Contains(r.Path, "gantry-lease") {
			n++
		}
	}
	return n
}

func (p *pausedRun) await(problem string, done func() bool) {
	p.t.Helper()
	for end := time.Now().Add(2 * endTime); !done(); time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // a test waits for a process
		if time.Now().After(end) {
			if err := p.cmd.Process.Kill(); err != nil {
				p.t.Error(err)
			}
			p.t.Fatalf("%s:\n%s", problem, p.said())
		}
	}
}

// end returns the exit status.
func (p *pausedRun) end() int {
	p.t.Helper()
	select {
	case <-p.ended: //nolint:errcheck // the status is enough
	case <-time.After(time.Minute):
		if err := p.cmd.Process.Kill(); err != nil {
			p.t.Error(err)
		}
		p.t.Fatalf("it does not end:\n%s", p.said())
	}
	return p.cmd.ProcessState.ExitCode()
}

// TestWindowEndsDuringTheCopy: the run completes its transfers, pauses, and continues in the next window. Another one is
// interrupted while it is paused: it ends at once and releases the mirror, and the next one continues.
func TestWindowEndsDuringTheCopy(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	p := w.startPaused("/a")
	at := p.copied()
	w.setClock("22:00")
	if code := p.end(); code != exitOK || !strings.Contains(p.said(), "inside of 22:00-05:00 again: continuing") || p.copied() == at {
		t.Errorf("it ended with %d:\n%s", code, p.said())
	}
	w.source.Script()
	w.verify("a", acme, 4)

	p = w.startPaused("/b")
	again := []string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/b"), "--workspace", w.path("other")}
	w.refuse(exitLocked, nil, again...) // other runs see that the mirror is in use
	began := time.Now()
	fail.On(t, p.cmd.Process.Signal(syscall.SIGINT))
	if code, took := p.end(), time.Since(began); code != exitInterrupted || took > endTime {
		t.Errorf("it ended with %d after %s:\n%s", code, took, p.said())
	}
	w.source.Script()
	w.must(again...)
	w.verify("b", acme, 4)
}
