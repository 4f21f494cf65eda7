package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// stuck starts the real program on the archive of the second month and waits until it is reading a
// new blob, whose download then stalls.
func (m *archiveSeries) stuck(folder string) (*exec.Cmd, *bytes.Buffer) {
	m.t.Helper()
	program, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	m.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/tidewater/server/blobs/", Action: registrytest.Stall(10)})
	m.source.ResetLog()
	stderr := &bytes.Buffer{}
	cmd := exec.CommandContext(m.t.Context(), program, "mirror", "-c", m.isc[2], fileScheme+m.path(folder), "--name", "ops", "--workspace", m.path("workspace"))
	cmd.Env, cmd.Stderr = m.environ(), stderr
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.waitFor("/tidewater/server/blobs/")
	return cmd, stderr
}

// finished returns the files of a folder without the unfinished work, which must be present.
func (m *archiveSeries) finished(folder string) map[string]string {
	m.t.Helper()
	files := m.tree(folder)
	partial := false
	for name := range files {
		if strings.HasPrefix(name, ".gantry-partial/") {
			partial = true
			delete(files, name)
		}
	}
	if !partial {
		m.t.Error("there is no unfinished work")
	}
	return files
}

// TestInterruptedSequence stops a run while it writes an archive next to the one that it builds on.
// The earlier archive is unchanged and can be imported. Another run writes the same files as an
// uninterrupted run.
func TestInterruptedSequence(t *testing.T) {
	t.Parallel()
	long(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			m := newArchiveSeries(t)
			disk := fileScheme + m.path("disk")
			m.must("mirror", "-c", m.isc[1], disk, "--name", "ops")
			first := m.tree("disk")
			for from, to := range map[string]string{"disk": "calm", "workspace": "calm-workspace"} {
				if err := os.CopyFS(m.path(to), os.DirFS(m.path(from))); err != nil {
					t.Fatal(err)
				}
			}
			m.must("mirror", "-c", m.isc[2], fileScheme+m.path("calm"), "--name", "ops", "--workspace", m.path("calm-workspace"))

			cmd, stderr := m.stuck("disk")
			again := []string{"mirror", "-c", m.isc[2], disk, "--name", "ops"}
			m.refuse(exitLocked, []string{m.path("workspace"), "wait for that run to end"}, again...)
			m.refuse(exitLocked, []string{m.path("disk"), "wait for that run to end"}, append(again, "--workspace", m.path("calm-workspace"))...)
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || signal == syscall.SIGINT && (exit.ExitCode() != exitInterrupted || !strings.Contains(stderr.String(), "run the same command again")) {
				t.Errorf("%v\n%s", err, stderr.String())
			}
			m.source.Script()
			if diff := cmp.Diff(first, m.finished("disk")); diff != "" {
				t.Errorf("the first month was changed: %s", diff)
			}
			m.must("verify", disk)
			m.must("mirror", m.docker("/site"), "--workspace", m.path("at-site"), "--from", disk)
			m.verify("site", acme, 1)

			m.must(again...)
			if diff := cmp.Diff(m.tree("calm"), m.tree("disk")); diff != "" {
				t.Errorf("different from the archive of an uninterrupted run: %s", diff)
			}
			m.must("mirror", m.docker("/site"), "--workspace", m.path("at-site"), "--from", disk)
			m.verify("site", acme, 4)
		})
	}
}
