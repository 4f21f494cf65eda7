package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSignArchiveOfOthers checks when an archive that the workspace did not write can be built on
// or signed.
func TestSignArchiveOfOthers(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	_, ops, _ := m.sshKey("ops", "")
	_, mallory, _ := m.sshKey("mallory", "")
	run := func(month int, folder, workspace string, args ...string) []string {
		return append([]string{"mirror", "-c", m.isc[month], fileScheme + m.path(folder), "--name", "ops", "--workspace", m.path(workspace)}, args...)
	}
	// writeForeign writes to a folder from another workspace: a full archive, or also an increment of the
	// second month.
	writeForeign := func(folder string, months int, args ...string) {
		t.Helper()
		for month := 1; month <= months; month++ {
			m.must(run(month, folder, "at-mallory-"+folder, args...)...)
		}
	}
	sign := []string{"--sign-key", ops}

	// An unsigned archive is neither built on nor signed.
	writeForeign("other", 1)
	m.refuse(exitMismatch, []string{"sequence 1 in " + m.path("other"), "this workspace did not write it, and it is not signed", "--base none", "--verify-key"}, run(2, "other", "w", sign...)...)
	m.refuse(exitMismatch, []string{"it is not signed"}, run(2, "other", "w", append(sign, "--dry-run")...)...)
	if got := m.sets("other"); !slices.Equal(got, []string{"000001"}) {
		t.Errorf("after the refusal the folder has %v", got)
	}
	if _, err := os.Stat(m.path("other/gantry-000001.json.sig")); err == nil {
		t.Error("it was signed")
	}
	// --full writes all content, whatever is in the folder, and signs only the new archive.
	o := m.must(run(2, "other", "w", append(sign, "--full")...)...)
	if strings.Contains(o.stdout, "omits") {
		t.Errorf("--full prints\n%s", o.stdout)
	}
	m.must("verify", fileScheme+m.path("other"), "--verify-key", ops+".pub")

	// Signed with no key configured, with an untrusted key, and with a trusted key, on which a new
	// workspace builds.
	writeForeign("signed", 1, "--sign-key", mallory)
	m.refuse(exitMismatch, []string{"this workspace did not write it", "no keys are known", "--verify-key"}, run(2, "signed", "new", sign...)...)
	m.refuse(exitMismatch, []string{"it is not a trusted key"}, run(2, "signed", "new", append(sign, "--allowed-signers", m.write("allowed", m.allowed("ops", "")))...)...)
	m.refuse(exitUsage, []string{"no such file"}, run(2, "signed", "new", append(sign, "--verify-key", m.path("none.pub"))...)...)
	o = m.must(run(2, "signed", "new", append(sign, "--verify-key", mallory+".pub")...)...)
	m.says(o.stdout, "Sequence 2 omits")
}
