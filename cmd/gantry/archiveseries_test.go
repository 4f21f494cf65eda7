package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// archiveSeries is a fixture in which three archives of one configuration are written, each to its own
// folder. The second archive has more content than the first. The third has the same content as the
// second. All content that images share is in the first.
type archiveSeries struct {
	*fixture
	isc   []string // configuration of each month
	disks []string // file://, from 1 on
}

const (
	firstMonth = `  operators:
  - catalog: registry.example.com/acme/operator-index:v4.20
    packages: [{name: lantern}]
  additionalImages: [{name: 'images.example.net/tools/netcheck:1.4'}]
`
	secondMonth = `  operators:
  - catalog: registry.example.com/acme/operator-index:v4.20
    packages: [{name: lantern}, {name: tidewater, minVersion: 2.1.0}]
  additionalImages: [{name: 'images.example.net/tools/netcheck:1.4'}, {name: 'images.example.net/tools/must-gather:4.20'}]
`
)

func newArchiveSeries(t *testing.T) *archiveSeries {
	t.Helper()
	m := &archiveSeries{fixture: newFixture(t, registrytest.Options{})}
	first, second := m.config("month1.yaml", firstMonth), m.config("month2.yaml", secondMonth)
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

// size returns the total size of the files in the folder of a month.
func (m *archiveSeries) size(month int) (n int64) {
	m.t.Helper()
	files, err := os.ReadDir(strings.TrimPrefix(m.disks[month], fileScheme))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			m.t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// TestSequencesOutput checks what runs print about archives that build on each other.
func TestSequencesOutput(t *testing.T) {
	t.Parallel()
	m := newArchiveSeries(t)
	if first := m.writeMonth(1); strings.Contains(first.stdout, "omits") {
		t.Errorf("the first run printed\n%s", first.stdout)
	}
	m.says(m.writeMonth(2).stdout, "Sequence 2 omits ", "which are in sequence 1; --base none writes all content")
	third := m.writeMonth(3)
	m.says(third.stdout, "Nothing to copy, and nothing to carry: sequence 3 at "+m.disks[3]+" has no content, because all ", " images are in sequences 1 to 2.", "copy its files; --base none writes")
	if strings.Contains(third.stdout, "omits") {
		t.Errorf("the third run printed it twice\n%s", third.stdout)
	}
	m.says(m.writeMonth(3).stdout, "Nothing to copy: sequence 3 at "+m.disks[3]+" has this content. It builds on sequence 2")
	m.says(m.must("mirror", "-c", m.isc[2], m.disks[2], "--name", "ops", "--dry-run").stdout, "To copy  0 B")
	m.says(m.looked(exitOK, "verify", m.disks[3], m.disks[1]).stdout, "builds on sequence 2, whose folder was not named", "Not read: sequence 1; the newest archive does not build on it")
	m.says(m.must(append(m.importArgs("site", 1), "--write-receipt", m.path("site.json"))...).stdout, "Receipt: "+m.path("site.json"))
	m.refuse(exitMismatch, []string{"gantry-000002", "a second --from", "--base none"}, m.importArgs("site", 3)...)
	m.says(m.must("mirror", "-c", m.isc[2], fileScheme+m.path("other"), "--name", "ops", "--receipt", m.path("site.json")).stdout, "the site has according to its receipt, which covers the sequences up to 1")
}

// archivePlan reads the plan of an archive.
func archivePlan(ctx context.Context, have *archive.Archive) (*plan.Plan, error) {
	return airgap.ReadPlan(ctx, have)
}

// readReceipt reads a receipt from a file.
func (m *archiveSeries) readReceipt(file string) *state.Receipt {
	m.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	r, err := state.ReadReceipt(f)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

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
