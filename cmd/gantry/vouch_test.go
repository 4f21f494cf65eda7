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
	unsigned := func(folder string, months ...string) {
		t.Helper()
		for _, month := range months {
			if _, err := os.Stat(m.path(folder + "/gantry-00000" + month + ".json.sig")); err == nil {
				t.Errorf("%s: sequence %s was signed", folder, month)
			}
		}
	}
	sign := []string{"--sign-key", ops}

	// What would be written looks like what lies there: it would be signed.
	plant("alike", 2)
	m.refuse(exitMismatch, []string{"sequence 2 in " + m.path("alike"), "this workspace did not write it, and it is not signed", "--full", "--verify-key"}, run(2, "alike", "w1", sign...)...)
	unsigned("alike", "1", "2")
	// It would be built on.
	plant("other", 1)
	m.refuse(exitMismatch, []string{"sequence 1 in", "it is not signed"}, run(2, "other", "w2", sign...)...)
	m.refuse(exitMismatch, []string{"it is not signed"}, run(2, "other", "w2", append(sign, "--dry-run")...)...)
	if got := m.sets("other"); !slices.Equal(got, []string{"000001"}) {
		t.Errorf("refused, and the folder has %v", got)
	}
	// A run that does not sign builds on it, and one that signs does not, there or
	// elsewhere, by what the former left in the history.
	m.must(run(2, "other", "w2")...)
	m.must(run(1, "found", "w3")...)
	plant("known", 1)
	m.must(run(1, "known", "w4", "--dry-run")...)
	m.must(run(1, "known", "w4")...) // it has all
	m.refuse(exitMismatch, []string{"sequence 1 in " + m.path("known")}, run(2, "elsewhere", "w4", sign...)...)
	m.refuse(exitMismatch, []string{"sequence 1 in " + m.path("known")}, run(2, "elsewhere", "w4", append(sign, "--since", "1")...)...)
	// What the workspace wrote itself is signed, whatever it did not do then.
	m.must(run(1, "found", "w3", sign...)...)
	m.must(run(2, "found", "w3", sign...)...)
	m.must("verify", fileScheme+m.path("found"), "--verify-key", ops+".pub")

	// Signed by nobody who is known, or by somebody else than the site takes.
	plant("signed", 1, "--sign-key", mallory)
	m.refuse(exitMismatch, []string{"this workspace did not write it", "no keys are known", "--verify-key"}, run(2, "signed", "w5", sign...)...)
	m.refuse(exitMismatch, []string{"not among the keys"}, run(2, "signed", "w5", append(sign, "--verify-key", ops+".pub")...)...)
	m.refuse(exitMismatch, []string{"not among the keys"}, run(2, "signed", "w5", append(sign, "--allowed-signers", m.write("allowed", m.allowed("ops", "")))...)...)
	m.refuse(exitUsage, []string{"no such file"}, run(2, "signed", "w5", append(sign, "--verify-key", m.path("none.pub"))...)...)
	// By somebody whom it takes, or with the same key: a new workspace goes on.
	o := m.must(run(2, "signed", "w5", append(sign, "--verify-key", mallory+".pub")...)...)
	m.says(o.stdout, "Sequence 2 leaves out")
	plant("own", 1, sign...)
	o = m.must(run(2, "own", "w6", sign...)...)
	m.says(o.stdout, "Sequence 2 leaves out")
	m.must(run(2, "own", "w6", append(sign, "--since", "1")...)...) // the history has what was vouched for
	// What is no signature is none.
	plant("forged", 1)
	m.write("forged/gantry-000001.json.sig", "hello")
	m.refuse(exitMismatch, []string{"no SSH signature", "--full"}, run(2, "forged", "w7", append(sign, "--verify-key", mallory+".pub")...)...)

	// --full writes all, whatever lies there, and signs that alone.
	o = m.must(run(2, "alike", "w1", append(sign, "--full")...)...)
	if strings.Contains(o.stdout, "leaves out") {
		t.Errorf("--full says\n%s", o.stdout)
	}
	m.must("verify", fileScheme+m.path("alike"), "--verify-key", ops+".pub")
	plant("whole", 1)
	m.must(run(1, "whole", "w8", append(sign, "--full")...)...)
	unsigned("whole", "1")
	m.must("verify", fileScheme+m.path("whole"), "--verify-key", ops+".pub")
}
