package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSignAnothersArchive signs next to archives that the workspace did not write.
func TestSignAnothersArchive(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	_, ops, _ := m.sshKey("ops", "")
	_, mallory, _ := m.sshKey("mallory", "")
	run := func(month int, folder, workspace string, args ...string) []string {
		return append([]string{"mirror", "-c", m.isc[month], fileScheme + m.path(folder), "--name", "ops", "--workspace", m.path(workspace)}, args...)
	}
	// plant has somebody else write to a folder: a whole archive, or an increment of
	// the second month on top of it.
	plant := func(folder string, months int, args ...string) {
		t.Helper()
		for month := 1; month <= months; month++ {
			m.must(run(month, folder, "at-mallory-"+folder, args...)...)
		}
	}
	sign := []string{"--sign-key", ops}

	// What lies there would be built on, or signed.
	plant("other", 1)
	m.refuse(exitMismatch, []string{"sequence 1 in " + m.path("other"), "this workspace did not write it, and it is not signed", "--full", "--verify-key"}, run(2, "other", "w", sign...)...)
	m.refuse(exitMismatch, []string{"it is not signed"}, run(2, "other", "w", append(sign, "--dry-run")...)...)
	if got := m.sets("other"); !slices.Equal(got, []string{"000001"}) {
		t.Errorf("refused, and the folder has %v", got)
	}
	if _, err := os.Stat(m.path("other/gantry-000001.json.sig")); err == nil {
		t.Error("it was signed")
	}
	// --full writes all, whatever lies there, and signs that alone.
	o := m.must(run(2, "other", "w", append(sign, "--full")...)...)
	if strings.Contains(o.stdout, "leaves out") {
		t.Errorf("--full says\n%s", o.stdout)
	}
	m.must("verify", fileScheme+m.path("other"), "--verify-key", ops+".pub")

	// Signed by nobody who is known, by somebody else than the site takes, and by whom it
	// takes: a new workspace goes on.
	plant("signed", 1, "--sign-key", mallory)
	m.refuse(exitMismatch, []string{"this workspace did not write it", "no keys are known", "--verify-key"}, run(2, "signed", "new", sign...)...)
	m.refuse(exitMismatch, []string{"not among the keys"}, run(2, "signed", "new", append(sign, "--allowed-signers", m.write("allowed", m.allowed("ops", "")))...)...)
	m.refuse(exitUsage, []string{"no such file"}, run(2, "signed", "new", append(sign, "--verify-key", m.path("none.pub"))...)...)
	o = m.must(run(2, "signed", "new", append(sign, "--verify-key", mallory+".pub")...)...)
	m.says(o.stdout, "Sequence 2 leaves out")
}
