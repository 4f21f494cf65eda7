package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
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
			m.want("the first", m.written(1, "disk"), 1, 0)
			disk, first := fileScheme+m.path("disk"), m.tree("disk")
			for from, to := range map[string]string{"disk": "calm", "workspace": "calm-workspace"} {
				if err := os.CopyFS(m.path(to), os.DirFS(m.path(from))); err != nil {
					t.Fatal(err)
				}
			}
			m.want("undisturbed", m.written(2, "calm", "--workspace", m.path("calm-workspace")), 2, 1)

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

			m.want("again", m.written(2, "disk"), 2, 1)
			if diff := cmp.Diff(m.tree("calm"), m.tree("disk")); diff != "" {
				t.Errorf("different from the archive of an uninterrupted run: %s", diff)
			}
			m.must("mirror", m.docker("/site"), "--workspace", m.path("at-site"), "--from", disk)
			m.verify("site", acme, 4)
			m.want("the next", m.written(3, "other"), 3, 2)
		})
	}
}

// TestSequenceFillsDisk fills the disk while a run writes an archive next to the one that it builds
// on.
func TestSequenceFillsDisk(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	dir := m.medium("disk", 32)
	m.want("the first", m.written(1, "disk"), 1, 0)
	first, filler := m.tree("disk"), filepath.Join(dir, "holiday.mov")
	fill := func() {
		f, err := os.OpenFile(filler, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		for err == nil {
			_, err = f.Write(make([]byte, 64<<10))
		}
		_ = f.Close() // the disk is full
	}
	m.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/tidewater/server/blobs/", Action: once(fill)})
	again := []string{"mirror", "-c", m.isc[2], fileScheme + dir, "--name", "ops"}
	if o := m.gantry(again...); o.code != exitNoSpace || !strings.Contains(o.stderr, "not enough space in "+dir) || strings.Count(o.stderr, "and run again") != 1 {
		t.Errorf("with a full disk, the run ended with %d and printed\n%s", o.code, o.stderr)
	}
	// The next run reports the error before it reads any blob.
	fill()
	m.source.ResetLog()
	m.refuse(exitNoSpace, []string{"not enough space in " + dir, "are still to be written"}, again...)
	for _, r := range m.source.Log() {
		if r.Kind() == "GET blob" && strings.Contains(r.Path, "/tidewater/") {
			t.Errorf("%s was read although there is no space for it", r.Path)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, m.finished("disk")); diff != "" {
		t.Errorf("the first month was changed: %s", diff)
	}
	m.want("again", m.written(2, "disk"), 2, 1)
	if got := m.sets("disk"); !slices.Equal(got, []string{"000001", "000002"}) {
		t.Errorf("the folder has %v", got)
	}
	m.must("verify", fileScheme+dir)
	m.must("mirror", m.docker("/site"), "--workspace", m.path("at-site"), "--from", fileScheme+dir)
	m.verify("site", acme, 4)
}

// TestDamagedSequenceWithoutItsPackage excludes the package of an image that is damaged on the
// disk. The catalog is built again from layers that only the mirror has. A repair adds the package.
func TestDamagedSequenceWithoutItsPackage(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.writeMonth(1)
	m.writeMonth(2)
	m.must(m.importArgs("site", 1)...)
	have, err := archive.Open(m.path("disk2"))
	if err != nil {
		t.Fatal(err)
	}
	p, spoilt := m.readArchivePlan(have), false
	for e := range have.Entries() {
		if !e.IsContent || e.Size < 1000 || spoilt {
			continue
		}
		holders, err := mirror.ImagesByContent(p, []digest.Digest{e.Digest})
		if err != nil {
			t.Fatal(err)
		}
		if all := holders[e.Digest]; len(all) == 1 && strings.HasSuffix(all[0].Repository, "tidewater/server") {
			m.spoil("disk2", e)
			spoilt = true
		}
	}
	if err := have.Close(); err != nil || !spoilt {
		t.Fatalf("spoilt: %t, %v", spoilt, err)
	}

	damaged := append(m.importArgs("site", 2), "--on-error", "package")
	m.refuse(exitMismatch, []string{"gantry-000002.0001.tar", "excluded: package tidewater of catalog registry.example.com/" + acme, "1 package is excluded"}, damaged...)
	m.verify("site", acme, 1)
	request := m.path("request.json")
	m.looked(exitMismatch, "archive", "repair-request", m.disks[2], "-o", request)
	m.must("mirror", "--repair", request, fileScheme+m.path("repair"))
	m.must(append(damaged, "--from", fileScheme+m.path("repair"))...)
	m.verify("site", acme, 4)

	// If the mirror does not have these layers either, the catalog is withheld, and the message
	// names the archive that has them.
	m.must(m.importArgs("other", 1)...)
	m.mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/operator-index/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	m.refuse(exitMismatch, []string{"withheld: catalog", "gantry-000001.json"}, append(m.importArgs("other", 2), "--on-error", "package")...)
}

// TestEmptiedMirror checks that an import fails before it copies anything if the mirror has lost
// the content that the workspace records as imported.
func TestEmptiedMirror(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.writeMonth(1)
	m.writeMonth(2)
	m.must(m.importArgs("site", 1)...)
	record, err := filepath.Glob(m.path("at-site/receipts/*/ops.json"))
	if err != nil || len(record) != 1 {
		t.Fatalf("the receipts are %v, %v", record, err)
	}
	before, err := os.ReadFile(record[0])
	if err != nil {
		t.Fatal(err)
	}
	m.mirror.Script(registrytest.Rule{Method: http.MethodHead, Path: "/v2/site/", Action: registrytest.Status(http.StatusNotFound)})
	m.mirror.ResetLog()
	m.refuse(exitMismatch, []string{"sequence 2 builds on 1, which this workspace imported, but the mirror has lost it", "bring gantry-000001 too", "--base none"}, m.importArgs("site", 2)...)
	if sent := changed(m.mirror.Log()); len(sent) > 0 {
		t.Errorf("the mirror was changed: %v", sent)
	}
	if after, err := os.ReadFile(record[0]); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the receipt was changed: %v\n%s", err, after)
	}
	m.mirror.Script()
	m.must(m.importArgs("site", 2)...)
	m.verify("site", acme, 4)
	// The mirror has nothing under other names.
	renamed := []string{"--max-nested-paths", "2"}
	m.refuse(exitMismatch, []string{"or has it under other names"}, append(m.importArgs("site", 2), renamed...)...)
	m.must(append(m.importArgs("site", 2, 1), renamed...)...)
	m.must(append([]string{"verify", "--from", m.disks[2], "--blobs", m.docker("/site")}, renamed...)...)
}
