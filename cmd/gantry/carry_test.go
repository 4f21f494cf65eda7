package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// months is a world in which three archives of one configuration were written, to a
// folder each: the second has more than the first, the third the same as the second.
// All that images share is brought by the first.
type months struct {
	*world
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

func newMonths(t *testing.T) *months {
	t.Helper()
	m := &months{world: newWorld(t, registrytest.Options{})}
	first, second := m.config("month1.yaml", firstMonth), m.config("month2.yaml", secondMonth)
	m.isc, m.disks = []string{"", first, second, second}, []string{""}
	for i := 1; i <= 3; i++ {
		m.disks = append(m.disks, fileScheme+m.path("disk"+string(rune('0'+i))))
	}
	return m
}

// carry writes the archive of a month.
func (m *months) carry(month int, args ...string) outcome {
	m.t.Helper()
	return m.must(append([]string{"mirror", "-c", m.isc[month], m.disks[month], "--name", "ops"}, args...)...)
}

// bring is the command that imports at a site, which has a workspace of its own.
func (m *months) bring(site string, disks ...int) []string {
	args := []string{"mirror", m.docker("/" + site), "--workspace", m.path("at-" + site)}
	for _, n := range disks {
		args = append(args, "--from", m.disks[n])
	}
	return args
}

// size is that of all files in the folder of a month.
func (m *months) size(month int) (n int64) {
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

// sent counts what was sent to the mirror since its log was reset.
func (m *months) sent(kind string) int { return m.mirror.Requests()[kind] }

// TestMonths carries a configuration for three months, to a site that gets every disk
// and to one that misses the second.
func TestMonths(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	first := m.carry(1)
	if strings.Contains(first.stdout, "leaves out") {
		t.Errorf("the first says\n%s", first.stdout)
	}
	m.source.ResetLog()
	second := m.carry(2)
	m.says(second.stdout, "Sequence 2 leaves out ", "which are in sequence 1; --full writes all content")
	for _, r := range m.source.Log() {
		if r.Method == http.MethodGet && strings.Contains(r.Path, "/blobs/") && strings.Contains(r.Path, "/lantern/store/") {
			t.Errorf("%s was read again", r.Path)
		}
	}
	third := m.carry(3)
	m.says(third.stdout, "Nothing to copy, and nothing to carry: sequence 3 at "+m.disks[3]+" has no content, since all ", " images are in sequences 1 to 2.", "copy its files; --full writes")
	if strings.Contains(third.stdout, "leaves out") {
		t.Errorf("the third says it twice\n%s", third.stdout)
	}
	m.says(m.carry(3).stdout, "Nothing to copy: sequence 3 at "+m.disks[3]+" is of this content. It builds on sequence 2")
	if one, three := m.size(1), m.size(3); three > 64<<10 {
		t.Errorf("the archive with nothing new has %d bytes, the first %d", three, one)
	}
	for month := 1; month <= 3; month++ {
		m.looked(exitOK, "verify", m.disks[month])
		if _, err := os.Stat(filepath.Join(strings.TrimPrefix(m.disks[month], fileScheme), []string{"", "gantry-000001.json", "gantry-000002.json", "gantry-000003.json"}[month])); err != nil {
			t.Error(err)
		}
	}

	// The second ties the third to the first, which is not read without it.
	m.says(m.looked(exitOK, "verify", m.disks[3], m.disks[1]).stdout, "builds on sequence 2, carried before and not here", "Not read: sequence 1, which is here")
	if o := m.looked(exitOK, "verify", m.disks[3], m.disks[2], m.disks[1]); strings.Contains(o.stdout, "Not read") {
		t.Errorf("of all three it says\n%s", o.stdout)
	}

	// What is written already is signed when a key is given.
	_, ops, _ := m.sshKey("ops", "")
	m.looked(exitMismatch, "verify", m.disks[2], "--require-signature", "--verify-key", ops+".pub")
	m.carry(2, "--sign-key", ops)
	m.looked(exitOK, "verify", m.disks[2], "--verify-key", ops+".pub")

	// Every disk.
	m.must(m.bring("all", 1)...)
	m.mirror.ResetLog()
	m.must(m.bring("all", 2)...)
	if m.sent("GET blob") > 0 {
		t.Error("blobs were read back from the mirror, which mounts")
	}
	m.must(m.bring("all", 3)...)
	m.says(m.must(m.bring("all", 2)...).stderr, "sequence 2 is older than sequence 3, which was imported before")
	m.world.verify("all", acme, 4)
	// An archive with nothing new has no plan: the site's workspace has it.
	m.must("verify", "--from", m.disks[3], m.docker("/all"), "--workspace", m.path("at-all"))
	m.refuse(exitMismatch, []string{"sequence 3", "leaves its plan out", "carry gantry-000002 too"}, "verify", "--from", m.disks[3], m.docker("/all"), "--workspace", m.path("at-none"))
	if _, err := os.Stat(m.path("at-none")); err == nil {
		t.Error("verify made a workspace")
	}
	m.must("verify", "--from", m.disks[2], m.docker("/all"), "--blobs")

	// The second was missed: nothing is copied, and the message says what to do.
	m.must(m.bring("gap", 1)...)
	m.mirror.ResetLog()
	m.refuse(exitMismatch, []string{"gantry-000002", "a second --from", "--full"}, m.bring("gap", 3)...)
	if n := m.sent("PUT manifest") + m.sent("POST upload"); n > 0 {
		t.Errorf("%d requests changed the mirror", n)
	}
	// With it, all is there.
	m.must(m.bring("gap", 3, 2)...)
	m.world.verify("gap", acme, 4)

	// An archive that needs another than the site imported, with its own plan.
	m.must(m.bring("late", 3, 1, 2)...)
	m.world.verify("late", acme, 4)
	m.refuse(exitMismatch, []string{"sequence 2 builds on 1, which this site never imported", "carry gantry-000001 too", "--full", "are neither in " + m.disks[2]}, m.bring("empty", 2)...)

	// A site that lost its workspace is told by what its mirror has.
	if err := os.RemoveAll(m.path("at-all")); err != nil {
		t.Fatal(err)
	}
	o := m.must(m.bring("all", 2)...)
	m.says(o.stderr, "of which this workspace does not know that it was imported")
	m.says(o.stdout, "Nothing to copy")
}

// TestLeftOutIsLost names what a site lost that an archive leaves out; an archive that
// is written against the receipt brings it.
func TestLeftOutIsLost(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.carry(1)
	m.carry(2)
	m.must(m.bring("site", 1)...)
	have, err := archive.Open(strings.TrimPrefix(m.disks[2], fileScheme))
	if err != nil {
		t.Fatal(err)
	}
	p := m.readArchivePlan(have)
	lost, repository := "", ""
	for _, b := range p.Blobs {
		if where := have.Where(b.Digest); where != "" {
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
	m.refuse(exitPartial, []string{lost, repository, "gantry-000001.json"}, append(m.bring("site", 2), "--write-receipt", file)...)
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
	// What a receipt has is what was asked for.
	m.refuse(exitPartial, []string{lost, "--check-blobs", "--receipt"}, append(m.bring("site", 2), "--write-receipt", file, "--check-blobs")...)
	for _, at := range m.readReceipt(file).Repositories {
		for _, b := range at.Blobs {
			if b.Digest.String() == lost {
				t.Errorf("the receipt has %s in %s", lost, at.Name)
			}
		}
	}
	m.carry(3, "--receipt", file)
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
	m.must(m.bring("site", 3)...)
	m.world.verify("site", acme, 4)
}

// archivePlan reads the plan of an archive.
func archivePlan(ctx context.Context, have *archive.Archive) (*plan.Plan, error) {
	return carry.ReadPlan(ctx, have)
}

// readArchivePlan reads the plan of an archive.
func (m *months) readArchivePlan(have *archive.Archive) *plan.Plan {
	m.t.Helper()
	p, err := archivePlan(m.t.Context(), have)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

// readReceipt reads a receipt that was written.
func (m *months) readReceipt(file string) *receipt.Receipt {
	m.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	r, err := receipt.Read(f)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// destination is a mirror of the world.
func (m *months) destination(prefix string) mirror.Destination {
	m.t.Helper()
	d, err := mirror.ParseDestination(m.docker(prefix), 0)
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}
