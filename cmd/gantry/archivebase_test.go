package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// sets returns the sequence numbers of the archives in a folder of the fixture.
func (m *archiveSeries) sets(folder string) []string {
	m.t.Helper()
	files, err := filepath.Glob(filepath.Join(m.path(folder), "gantry-*.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[i]), "gantry-"), ".json")
	}
	return files
}

// written writes an archive of a month to a folder and returns its JSON result.
func (m *archiveSeries) written(month int, folder string, args ...string) airgap.ExportResult {
	m.t.Helper()
	o := m.must(append([]string{"mirror", "-c", m.isc[month], fileScheme + m.path(folder), "--name", "ops", "--output", "json"}, args...)...)
	var result struct{ Archive *airgap.ExportResult }
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Archive == nil {
		m.t.Fatalf("%v\n%s", err, o.stdout)
	}
	return *result.Archive
}

// want checks the result of writing an archive.
func (m *archiveSeries) want(what string, got airgap.ExportResult, sequence, buildsOn int) {
	m.t.Helper()
	if got.Sequence != sequence || got.BuildsOn != buildsOn || (got.Omitted != nil && got.Omitted.Bytes > 0) != (buildsOn > 0) || got.Set == "" {
		m.t.Errorf("%s: sequence %d builds on %d, leaves out %+v; want sequence %d on %d", what, got.Sequence, got.BuildsOn, got.Omitted, sequence, buildsOn)
	}
}

// TestSince checks which content an archive omits with and without --since, and the archives in
// each folder.
func TestSince(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.want("the first", m.written(1, "a"), 1, 0)
	m.want("the next, beside it", m.written(2, "a"), 2, 1)
	if diff := m.sets("a"); !slices.Equal(diff, []string{"000001", "000002"}) {
		t.Errorf("the folder has %v", diff)
	}
	// If there is nothing new, nothing is written to the folder with the newest archive, and little
	// to another folder.
	before := m.tree("a")
	o := m.must("mirror", "-c", m.isc[2], fileScheme+m.path("a"), "--name", "ops")
	m.says(o.stdout, "Nothing to copy")
	if after := m.tree("a"); len(after) != len(before) {
		t.Errorf("the folder has %d files, had %d", len(after), len(before))
	}
	if o := m.must("mirror", "-c", m.isc[2], fileScheme+m.path("a"), "--name", "ops", "--dry-run"); !strings.Contains(o.stdout, "To copy  0 B") {
		t.Errorf("a dry run prints\n%s", o.stdout)
	}
	m.want("since the first", m.written(2, "b", "--since", "1"), 3, 1)
	m.want("since the newest", m.written(2, "c", "--since", "3"), 4, 3)
	m.refuse(exitUsage, []string{"--base 2999-01-01 is in the future"}, "mirror", "-c", m.isc[2], fileScheme+m.path("d"), "--name", "ops", "--since", "2999-01-01")
	m.want("all", m.written(2, "a", "--full"), 5, 0)
	if diff := m.sets("a"); !slices.Equal(diff, []string{"000005"}) {
		t.Errorf("after --full the folder has %v", diff)
	}
	for name, tc := range map[string]struct {
		words []string
		args  []string
	}{
		"no such archive": {[]string{"wrote no sequence 9 of ", "set --base to 1 (", "or 5 ("}, []string{"--since", "9"}},
		"no date":         {[]string{"--base \"soon\"", "2026-10-01"}, []string{"--since", "soon"}},
		"two":             {[]string{"--since and --full"}, []string{"--since", "1", "--full"}},
		"nothing":         {[]string{"--since is empty"}, []string{"--since", ""}},
		"empty receipt":   {[]string{"--receipt is empty"}, []string{"--receipt="}},
		"no receipt":      {[]string{"reading the receipt", checkPath}, []string{"--receipt", m.path("absent.json")}},
	} {
		t.Run(name, func(t *testing.T) {
			m.refuse(exitUsage, tc.words, append([]string{"mirror", "-c", m.isc[2], fileScheme + m.path("e"), "--name", "ops"}, tc.args...)...)
		})
	}
	m.refuse(exitUsage, []string{"--base none is for file://"}, "mirror", "-c", m.isc[2], m.docker("/x"), "--full")
	m.refuse(exitUsage, []string{"--write-receipt is for --from"}, "mirror", "-c", m.isc[2], m.docker("/x"), "--write-receipt", m.path("r.json"))
}

// TestHistoryIsLost checks that after the workspace's history is lost, the next archive builds on
// the archive in the folder, and that all content is written again if that archive is damaged.
func TestHistoryIsLost(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.written(1, "disk")
	if err := os.RemoveAll(m.path("workspace/archives")); err != nil {
		t.Fatal(err)
	}
	m.want("without a history", m.written(2, "disk"), 2, 1)

	// No archive builds on a damaged one.
	volume := m.path("disk/gantry-000002.0001.tar")
	if err := os.Truncate(volume, 5000); err != nil {
		t.Fatal(err)
	}
	o := m.must("mirror", "-c", m.isc[2], fileScheme+m.path("disk"), "--name", "ops")
	m.says(o.stderr, "gantry-000002.json in "+m.path("disk")+" is damaged, so that all content is written again")
	m.looked(exitOK, "verify", fileScheme+m.path("disk"))
	m.must("mirror", "--from", fileScheme+m.path("disk"), m.docker("/healed"), "--workspace", m.path("at"))
}

// TestLostDisk writes an archive from the site's receipt after a disk was lost on its way to the
// site.
func TestLostDisk(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	_, ops, _ := m.sshKey("ops", "")
	_, mallory, _ := m.sshKey("mallory", "")
	file := m.path("site.json")
	m.writeMonth(1)
	if o := m.must(append(m.importArgs("site", 1), "--write-receipt", file, "--sign-key", ops)...); !strings.Contains(o.stdout, "Receipt: "+file) {
		t.Errorf("it prints\n%s", o.stdout)
	}
	m.writeMonth(2) // this disk is lost
	// The same import writes the same receipt.
	again := m.path("again.json")
	m.must(append(m.importArgs("site", 1), "--write-receipt", again)...)
	one, errOne := os.ReadFile(file)
	two, errTwo := os.ReadFile(again)
	if err := errors.Join(errOne, errTwo); err != nil || !bytes.Equal(one, two) || len(one) > 32<<10 {
		t.Errorf("%v; receipts of %d and %d bytes", err, len(one), len(two))
	}

	third := []string{"mirror", "-c", m.isc[3], m.disks[3], "--name", "ops", "--receipt", file}
	m.refuse(exitMismatch, []string{"the receipt " + file + " is refused"}, append(third, "--verify-key", mallory+".pub")...)
	m.refuse(exitUsage, []string{`is of "ops"`, `of "others"`}, "mirror", "-c", m.isc[3], m.disks[3], "--name", "others", "--receipt", file)
	if files := m.sets("disk3"); len(files) > 0 {
		t.Fatalf("refused, but written: %v", files)
	}
	o := m.must(append(third, "--verify-key", ops+".pub")...)
	m.says(o.stdout, "Sequence 3 omits", "the site has according to its receipt, which covers the sequences up to 1")
	m.must(m.importArgs("site", 3)...)
	m.verify("site", acme, 4)
	r := m.readReceipt(m.path("at-site/receipts/" + (&site.RegistryDestination{RegistryPath: m.destination("/site")}).Key() + "/ops.json"))
	if len(r.Sets) != 2 || r.Sets[1].Sequence != 3 {
		t.Errorf("the receipt has %v", r.Sets)
	}
}

// TestRepair repairs an archive with flipped bits, with only the content that the connected side
// sends for it.
func TestRepair(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.writeMonth(1)
	m.writeMonth(2)
	have, err := archive.Open(strings.TrimPrefix(m.disks[2], fileScheme))
	if err != nil {
		t.Fatal(err)
	}
	spoilt := 0
	for e := range have.Entries() {
		// A source has only layers of this size; smaller content may be of the catalog, which was built here.
		if e.IsContent && e.Size > 10_000 && spoilt < 3 {
			m.spoil("disk2", e)
			spoilt++
		}
	}
	if err := have.Close(); err != nil {
		t.Fatal(err)
	}
	request, repair := m.path("request.json"), fileScheme+m.path("repair")
	m.looked(exitMismatch, "archive", "repair-request", m.disks[2], "-o", request)
	m.source.ResetLog()
	o := m.must("mirror", "--repair", request, repair)
	m.says(o.stdout, "Repair of sequence 2", "3 manifests and blobs")
	if n := m.source.Requests()["GET blob"]; n > 3 {
		t.Errorf("%d blobs were read for a repair of 3", n)
	}
	if o := m.must("mirror", "--repair", request, repair, "--window", "00:00-24:00"); !strings.Contains(o.stdout, "Nothing to write") {
		t.Errorf("again it prints\n%s", o.stdout)
	}
	if log := m.must("status", "--audit").stdout; !strings.Contains(log, "repair") {
		t.Errorf("no repair is in\n%s", log)
	}
	m.refuse(exitUsage, []string{"--gate-plan", "cannot be combined with --repair"}, "mirror", "--repair", request, repair, "--gate-plan", "/bin/true")
	m.must(m.importArgs("site", 1)...)
	if o := m.gantry(m.importArgs("bare", 1, 2)...); o.code != exitMismatch {
		t.Errorf("without the repair it ended with %d\n%s", o.code, o.stderr)
	}
	m.must(append(m.importArgs("site", 2), "--from", repair)...)
	m.verify("site", acme, 4)

	m.refuse(exitUsage, []string{"--repair writes an archive"}, "mirror", "--repair", request, m.docker("/x"))
	m.refuse(exitUsage, []string{"without them"}, "mirror", "--repair", request, "-c", m.isc[1], repair)
	m.refuse(exitUsage, []string{"request", "kind"}, "mirror", "--repair", m.write("no.json", `{"kind":"other"}`), repair)
	m.source.Script(registrytest.Rule{Action: registrytest.Status(404)})
	if err := os.RemoveAll(m.path("workspace/cache")); err != nil {
		t.Fatal(err)
	}
	m.refuse(exitPartial, []string{"not written: sha256:", "no source has 3 blobs and manifests", "run it again"}, "mirror", "--repair", request, fileScheme+m.path("repair2"))
	m.source.Script()
	m.must("mirror", "--repair", request, fileScheme+m.path("repair2"))
}
