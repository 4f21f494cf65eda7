//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// hungUp runs the program and closes its terminal while a blob is being uploaded. The upload then
// continues with the action then. When a terminal closes, the kernel sends HUP, and the shell sends
// it again. Here the second one is sent when the run cancels its uploads.
func (w *fixture) hungUp(cmd *exec.Cmd, then registrytest.Action) (stderr string, err error) {
	w.t.Helper()
	started := make(chan struct{}) // cmd.Process is set
	hup := once(func() {
		<-started
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			w.t.Error(err)
		}
	})
	again := once(func() {
		<-started
		_ = cmd.Process.Signal(syscall.SIGHUP)
	})
	w.mirror.Script(
		registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 3, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			hup(rw, r, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { then(rw, r, next) }))
		}},
		registrytest.Rule{Method: http.MethodDelete, Path: "/blobs/uploads/", Action: again},
	)
	defer w.mirror.Script()
	var text bytes.Buffer
	cmd.Stderr = &text
	err = cmd.Start()
	close(started)
	if err == nil {
		err = cmd.Wait()
	}
	return text.String(), err
}

// TestHangup checks that a run ends cleanly when its terminal closes, as with Ctrl-C: it leaves no
// open uploads at the mirror. Below nohup, it continues.
func TestHangup(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("these tests run below nohup, which the program inherits")
	}
	w := newFixture(t, registrytest.Options{})
	args := []string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/site"), "--workspace", w.path("workspace")}
	stderr, err := w.hungUp(w.process(t.Context(), args...), registrytest.StallUpload(10))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || !strings.Contains(stderr, "run the same command again") {
		t.Errorf("%v, want %d\n%s", err, exitInterrupted, stderr)
	}
	repositories, err := w.mirror.Repositories("site")
	fail.On(t, err)
	for _, r := range repositories {
		if r.Uploads > 0 {
			t.Errorf("%s has %d open uploads", r.Name, r.Uploads)
		}
	}
	cmd := w.process(t.Context(), args...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, cmd.Args...)
	goOn := func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
	if stderr, err := w.hungUp(cmd, goOn); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
	w.verify("site", acme, 4)
}

// TestClosedOutput checks that a run continues when the reader of its output exits, as head does. Errors still set the exit
// status.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"text":   {[]string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/text"), "--progress", "lines", "-v"}, exitOK},
		"json":   {[]string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/json"), "--output", "json", "--log-format", "json"}, exitOK},
		"events": {[]string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/events"), "--progress", "json"}, exitOK},
		"error":  {[]string{"plan", "-c", w.path("absent.yaml")}, exitUsage},
	} {
		cmd := w.process(t.Context(), append(tc.args, "--workspace", w.path("workspace-"+name))...)
		r, closed, err := os.Pipe()
		fail.On(t, err)
		cmd.Stdout, cmd.Stderr = closed, closed
		err = errors.Join(r.Close(), cmd.Run(), closed.Close())
		if code := cmd.ProcessState.ExitCode(); code != tc.code || (err == nil) != (code == exitOK) {
			t.Errorf("%s: %v, want %d", name, err, tc.code)
		}
		if tc.code == exitOK {
			w.verify(name, acme, 4)
		}
	}
}

// pipe makes a named pipe, and a function that returns what was written to it.
func (w *fixture) pipe(name string) (file string, written func() string) {
	w.t.Helper()
	file = w.path(name)
	fail.On(w.t, syscall.Mkfifo(file, 0o600))
	text := make(chan string, 1)
	go func() {
		raw, err := os.ReadFile(file)
		if err != nil {
			w.t.Error(err)
		}
		text <- string(raw)
	}()
	return file, func() string {
		// If the program wrote nothing, the reader still waits for a writer.
		if in, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = in.Close()
		}
		return <-text
	}
}

// TestNamedOutputs checks that output files may be pipes, which are written to, and symbolic links,
// which are followed.
func TestNamedOutputs(t *testing.T) {
	t.Parallel()
	m := newArchiveSeries(t)
	isc := m.isc[1]
	pipe, text := m.pipe("pipe")
	m.must("plan", "-c", isc, "-o", pipe)
	file := m.path("plan.json")
	link := m.path("link.json")
	fail.On(t, os.Symlink(filepath.Base(file), link))
	m.must("plan", "-c", isc, "-o", link)
	want, err := os.ReadFile(file)
	fail.On(t, err)
	if got := text(); got != string(want) || !json.Valid(want) {
		t.Errorf("%d bytes came out of the pipe, want %d", len(got), len(want))
	}

	// The shell opens a descriptor like this for -o >(jq .).
	r, other, err := os.Pipe()
	fail.On(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // reading from a pipe waits for longer
	defer cancel()
	cmd := m.process(ctx, "plan", "-c", isc, "-o", "/dev/fd/3", "--workspace", m.path("workspace"))
	cmd.ExtraFiles = []*os.File{other}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	fail.On(t, errors.Join(cmd.Start(), other.Close()))
	got, err := io.ReadAll(r)
	if err := errors.Join(err, cmd.Wait()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, want %d: %v\n%s", len(got), len(want), err, stderr.String())
	}

	// A pipe also works for a blob of an archive and for a receipt, but not for a signed receipt:
	// its signature needs a file next to it.
	m.writeMonth(1)
	have, err := archive.Open(m.path("disk1"))
	fail.On(t, err)
	defer have.Close()
	blob := mirrortest.Largest(have, "gantry-000001.0001.tar")
	taken, text := m.pipe("taken")
	m.looked(exitOK, "archive", "extract", m.disks[1], "--digest", blob.Digest.String(), "--to", taken)
	if got := text(); digest.FromString(got) != blob.Digest {
		t.Errorf("%d bytes of a blob came", len(got))
	}
	ops, _ := m.site().SSHKey("ops", "")
	receipt, text := m.pipe("receipt")
	m.refuse(exitUsage, []string{"is not a regular file"}, append(m.importArgs("site", 1), "--write-receipt", receipt, "--sign-key", ops)...)
	m.must(append(m.importArgs("site", 1), "--write-receipt", receipt)...)
	if got := text(); !json.Valid([]byte(got)) {
		t.Errorf("the receipt is %q", got)
	}
	for _, name := range []string{pipe, taken, receipt} {
		if info, err := os.Lstat(name); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Errorf("%s is not a pipe anymore: %v", name, err)
		}
	}
}
