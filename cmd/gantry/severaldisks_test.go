package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// moveVolumes moves every other volume of an archive to another folder and returns their names.
func (m *archiveSeries) moveVolumes(from, to string) []string {
	m.t.Helper()
	volumes, err := filepath.Glob(filepath.Join(m.path(from), "*.tar"))
	if err == nil {
		err = os.Mkdir(m.path(to), 0o755)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	var moved []string
	for i, v := range volumes {
		if i%2 == 1 {
			moved = append(moved, filepath.Base(v))
			if err := os.Rename(v, filepath.Join(m.path(to), filepath.Base(v))); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	if len(moved) < 2 {
		m.t.Fatalf("only %d volumes", len(volumes))
	}
	return moved
}

// TestSeveralDisks checks that an archive spread over two disks can be read.
func TestSeveralDisks(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.writeMonth(1, "--volume-size", "0.15MB")
	moved := m.moveVolumes("disk1", "beside")
	beside := fileScheme + m.path("beside")
	to := []string{"mirror", m.docker("/site"), "--workspace", m.path("at-site")}
	m.mirror.ResetLog()
	m.refuse(exitMismatch, append(moved, m.path("disk1")), append(to, "--from", m.disks[1])...)
	for request, n := range m.mirror.Requests() {
		if strings.HasPrefix(request, "PUT") || strings.HasPrefix(request, "POST") {
			t.Errorf("%d times %s before all disks are present", n, request)
		}
	}
	m.must(append(to, "--from", m.disks[1]+","+beside)...)
	m.verify("site", acme, 1)
	m.must("mirror", m.docker("/again"), "--workspace", m.path("at-again"), "--from", beside, "--from", m.disks[1])
	m.refuse(exitUsage, []string{"disk1,/x", "no such file", "check the path"}, append(to, "--from", m.disks[1]+",/x")...)
	m.refuse(exitUsage, []string{"--from", "no such file", "that the disk is mounted"}, append(to, "--from", fileScheme+m.path("absent"))...)
}

// TestUnfinishedSequence checks that existing archives stay unchanged while an archive that builds
// on them is incomplete, and that the incomplete archive can be finished without a package.
func TestUnfinishedSequence(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.written(1, "disk")
	before := m.tree("disk")
	second := []string{"mirror", "-c", m.isc[2], fileScheme + m.path("disk"), "--name", "ops"}
	m.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/tidewater/server/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	o := m.gantry(second...)
	if o.code != exitPartial {
		t.Errorf("it ended with %d\n%s", o.code, o.stderr)
	}
	m.says(o.stdout, "Not finished")
	after := m.tree("disk")
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	if got := m.sets("disk"); !slices.Equal(got, []string{"000001"}) {
		t.Errorf("the folder has %v", got)
	}
	o = m.gantry(append(second, "--on-error", "package")...)
	if o.code != exitPartial {
		t.Errorf("without the package it ended with %d\n%s", o.code, o.stderr)
	}
	m.says(o.stderr, "excluded: package tidewater")
	m.says(o.stdout, "Sequence 2 omits")
	m.must("mirror", m.docker("/site"), "--workspace", m.path("at-site"), "--from", fileScheme+m.path("disk"))
	m.verify("site", acme, 1)
	m.source.Script()
	m.want("with all of it", m.written(2, "third"), 3, 2)
	m.must("mirror", m.docker("/site"), "--workspace", m.path("at-site"), "--from", fileScheme+m.path("third"))
	m.verify("site", acme, 4)
	if left, err := filepath.Glob(m.path("disk/.gantry-partial")); err != nil || len(left) > 0 {
		t.Errorf("unfinished files are left: %v, %v", left, err)
	}
}
