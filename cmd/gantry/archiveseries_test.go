package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// archiveSeries is a fixture in which three archives of one configuration are written, each to its own
// folder. The second archive has more content than the first. The third has the same content as the
// second. All content that images share is in the first.
type archiveSeries struct {
	*fixture
	isc   []string // configuration of each month
	disks []string // file://, from 1 on
}

func newArchiveSeries(t *testing.T) *archiveSeries {
	t.Helper()
	m := &archiveSeries{fixture: newFixture(t, registrytest.Options{})}
	first, second := m.config("month1.yaml", mirrortest.FirstMonth), m.config("month2.yaml", mirrortest.SecondMonth)
	m.isc, m.disks = []string{"", first, second, second}, []string{""}
	for i := 1; i <= 3; i++ {
		m.disks = append(m.disks, fileScheme+m.path("disk"+string(rune('0'+i))))
	}
	return m
}

// writeMonth writes the archive of a month.
func (m *archiveSeries) writeMonth(month int, args ...string) outcome {
	m.t.Helper()
	return m.must(append([]string{"mirror", "-c", m.isc[month], m.disks[month], "--name", "ops"}, args...)...)
}

// importArgs returns the command that imports disks at a site. Each site has its own workspace.
func (m *archiveSeries) importArgs(site string, disks ...int) []string {
	args := []string{"mirror", m.docker("/" + site), "--workspace", m.path("at-" + site)}
	for _, n := range disks {
		args = append(args, "--from", m.disks[n])
	}
	return args
}

// moveVolumes moves every other volume of an archive to another folder and returns their names.
func (m *archiveSeries) moveVolumes(from, to string) []string {
	m.t.Helper()
	fail.On(m.t, os.Mkdir(m.path(to), 0o755))
	var moved []string
	for i, v := range m.glob(m.path(from + "/*.tar")) {
		if i%2 == 1 {
			moved = append(moved, filepath.Base(v))
			fail.On(m.t, os.Rename(v, filepath.Join(m.path(to), filepath.Base(v))))
		}
	}
	if len(moved) < 2 {
		m.t.Fatalf("only %d volumes", len(moved))
	}
	return moved
}
