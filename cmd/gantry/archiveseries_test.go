package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
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

// sent returns how many requests of a kind the mirror received since its log was reset.
func (m *archiveSeries) sent(kind string) int { return m.mirror.Requests()[kind] }

// TestSequences writes the archives of three months and imports them at a site that gets every disk
// and at one that misses the second.
func TestSequences(t *testing.T) {
	t.Parallel()
	m := newArchiveSeries(t)
	first := m.writeMonth(1)
	if strings.Contains(first.stdout, "omits") {
		t.Errorf("the first run printed\n%s", first.stdout)
	}
	m.source.ResetLog()
	second := m.writeMonth(2)
	m.says(second.stdout, "Sequence 2 omits ", "which are in sequence 1; --base none writes all content")
	for _, r := range m.source.Log() {
		if r.Method == http.MethodGet && strings.Contains(r.Path, "/blobs/") && strings.Contains(r.Path, "/lantern/store/") {
			t.Errorf("%s was read again", r.Path)
		}
	}
	third := m.writeMonth(3)
	m.says(third.stdout, "Nothing to copy, and nothing to carry: sequence 3 at "+m.disks[3]+" has no content, because all ", " images are in sequences 1 to 2.", "copy its files; --base none writes")
	if strings.Contains(third.stdout, "omits") {
		t.Errorf("the third run printed it twice\n%s", third.stdout)
	}
	m.says(m.writeMonth(3).stdout, "Nothing to copy: sequence 3 at "+m.disks[3]+" has this content. It builds on sequence 2")
	if one, three := m.size(1), m.size(3); three > 64<<10 {
		t.Errorf("the archive with nothing new has %d bytes, the first %d", three, one)
	}
	for month := 1; month <= 3; month++ {
		m.looked(exitOK, "verify", m.disks[month])
		if _, err := os.Stat(filepath.Join(strings.TrimPrefix(m.disks[month], fileScheme), []string{"", "gantry-000001.json", "gantry-000002.json", "gantry-000003.json"}[month])); err != nil {
			t.Error(err)
		}
	}

	// Sequence 3 builds on sequence 2, which builds on sequence 1. Without sequence 2, sequence 1
	// is not read.
	m.says(m.looked(exitOK, "verify", m.disks[3], m.disks[1]).stdout, "builds on sequence 2, whose folder was not named", "Not read: sequence 1; the newest archive does not build on it")
	if o := m.looked(exitOK, "verify", m.disks[3], m.disks[2], m.disks[1]); strings.Contains(o.stdout, "Not read") {
		t.Errorf("with all three archives it printed\n%s", o.stdout)
	}

	// An archive that is already written is signed if a key is given later.
	_, ops, _ := m.sshKey("ops", "")
	m.looked(exitMismatch, "verify", m.disks[2], "--require-signature", "--verify-key", ops+".pub")
	m.writeMonth(2, "--sign-key", ops)
	m.looked(exitOK, "verify", m.disks[2], "--verify-key", ops+".pub")

	// This site imports every disk.
	m.must(m.importArgs("all", 1)...)
	m.mirror.ResetLog()
	m.must(m.importArgs("all", 2)...)
	if m.sent("GET blob") > 0 {
		t.Error("blobs were read from the mirror, which can mount them")
	}
	m.must(m.importArgs("all", 3)...)
	m.says(m.must(m.importArgs("all", 2)...).stderr, "sequence 2 is older than sequence 3, which was imported before")
	m.fixture.verify("all", acme, 4)
	// An archive without new content has no plan. The plan is in the workspace of the site.
	m.must("verify", "--from", m.disks[3], m.docker("/all"), "--workspace", m.path("at-all"))
	m.refuse(exitMismatch, []string{"sequence 3", "omits its plan", "bring gantry-000002 too"}, "verify", "--from", m.disks[3], m.docker("/all"), "--workspace", m.path("at-none"))
	if _, err := os.Stat(m.path("at-none")); err == nil {
		t.Error("verify made a workspace")
	}
	m.must("verify", "--from", m.disks[2], m.docker("/all"), "--blobs")

	// This site missed the second disk: nothing is copied, and the message says what to do.
	m.must(m.importArgs("gap", 1)...)
	m.mirror.ResetLog()
	m.refuse(exitMismatch, []string{"gantry-000002", "a second --from", "--base none"}, m.importArgs("gap", 3)...)
	if n := m.sent("PUT manifest") + m.sent("POST upload"); n > 0 {
		t.Errorf("%d requests changed the mirror", n)
	}
	// With the second disk, the import is complete.
	m.must(m.importArgs("gap", 3, 2)...)
	m.fixture.verify("gap", acme, 4)

	// A site can import all archives at once. Sequence 2 has its own plan, but needs sequence 1,
	// which the last site never imported.
	m.must(m.importArgs("late", 3, 1, 2)...)
	m.fixture.verify("late", acme, 4)
	m.refuse(exitMismatch, []string{"sequence 2 builds on 1, which this workspace has not imported", "bring gantry-000001 too", "--base none", "are neither in " + m.disks[2]}, m.importArgs("empty", 2)...)

	// Without its workspace, a site is checked by the content of its mirror.
	if err := os.RemoveAll(m.path("at-all")); err != nil {
		t.Fatal(err)
	}
	o := m.must(m.importArgs("all", 2)...)
	m.says(o.stderr, "which this workspace has not recorded as imported")
	m.says(o.stdout, "Nothing to copy")
}

// TestLostOmittedContent checks that an import names the content that the archive omits and the
// site has lost. An archive written with the receipt of the site contains it.
func TestLostOmittedContent(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.writeMonth(1)
	m.writeMonth(2)
	m.must(m.importArgs("site", 1)...)
	have, err := archive.Open(strings.TrimPrefix(m.disks[2], fileScheme))
	if err != nil {
		t.Fatal(err)
	}
	p := m.readArchivePlan(have)
	lost, repository := "", ""
	for _, b := range p.Blobs {
		if where := have.RepositoryOf(b.Digest); where != "" {
			lost, repository = b.Digest.String(), where
		}
	}
	if err := have.Close(); err != nil {
		t.Fatal(err)
	}
	if lost == "" {
		t.Fatal("no new image needs a blob that was left out")
	}
	gone := registrytest.Rule{Path: "/blobs/" + lost, Action: registrytest.Status(http.StatusNotFound)}
	unmounted := registrytest.Rule{Method: http.MethodPost, Query: "mount=.*" + strings.TrimPrefix(lost, "sha256:"), Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.URL.RawQuery = ""
		next.ServeHTTP(w, r)
	}}
	m.mirror.Script(gone, unmounted)
	file := m.path("site.json")
	m.refuse(exitPartial, []string{lost, repository, "gantry-000001.json"}, append(m.importArgs("site", 2), "--write-receipt", file)...)
	r := m.readReceipt(file)
	for _, at := range r.Repositories {
		for _, b := range at.Blobs {
			if b.Digest.String() == lost && at.Name != repository {
				t.Errorf("the receipt has %s in %s", lost, at.Name)
			}
		}
	}
	if len(r.Sets) != 1 || r.Sets[0].Sequence != 1 {
		t.Errorf("the receipt has %v", r.Sets)
	}
	// With --check-blobs, the receipt lists only blobs that were requested from the mirror and are present.
	m.refuse(exitPartial, []string{lost, "--blobs=check", "--base"}, append(m.importArgs("site", 2), "--write-receipt", file, "--check-blobs")...)
	for _, at := range m.readReceipt(file).Repositories {
		for _, b := range at.Blobs {
			if b.Digest.String() == lost {
				t.Errorf("the receipt has %s in %s", lost, at.Name)
			}
		}
	}
	m.writeMonth(3, "--receipt", file)
	if have, err = archive.Open(strings.TrimPrefix(m.disks[3], fileScheme)); err != nil {
		t.Fatal(err)
	}
	brought := false
	for d := range have.Digests() {
		brought = brought || d.String() == lost
	}
	if err := have.Close(); err != nil || !brought {
		t.Errorf("the next archive has %s: %v, %v", lost, brought, err)
	}
	m.mirror.Script()
	m.must(m.importArgs("site", 3)...)
	m.fixture.verify("site", acme, 4)
}

// archivePlan reads the plan of an archive.
func archivePlan(ctx context.Context, have *archive.Archive) (*plan.Plan, error) {
	return airgap.ReadPlan(ctx, have)
}

// readArchivePlan reads the plan of an archive.
func (m *archiveSeries) readArchivePlan(have *archive.Archive) *plan.Plan {
	m.t.Helper()
	p, err := archivePlan(m.t.Context(), have)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
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

// destination returns the location with this prefix in the fixture's mirror.
func (m *archiveSeries) destination(prefix string) mirror.RegistryPath {
	m.t.Helper()
	d, err := mirror.ParseRegistryPath(m.docker(prefix), 0)
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}
