package main

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/plan/updates"
)

// TestReleaseFlags checks the warnings of flags that have no effect, and that contradictory flags
// are refused.
func TestReleaseFlags(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", "  platform:\n    graph: true\n    channels:\n    - name: fast-4.20\n")
	const ignore = "--ignore-release-signature"
	o := w.must("plan", "-c", cfg, ignore, "-o", w.path("plan.json"))
	w.says(o.stderr, "mirrored without checking their signatures ("+ignore+")")
	w.says(o.stdout, "the signatures of 1 release were not verified: ")
	key := w.env[updates.SignatureKeyVariable]
	w.refuse(exitUsage, []string{"contradict each other", "leave one of them out"}, "plan", "-c", cfg, ignore, "--release-key", key)

	// Forbidding a misspelled risk is a warning in every form of output.
	forbids := w.config("forbids.yaml", "  platform:\n    channels:\n    - name: stable-4.20\n      risks: {forbid: [PausedPoools]}\n")
	const warning = `no update of channel stable-4.20 has the risk "PausedPoools", so forbidding it (risks.forbid) has no effect; did you mean "PausedPools"?`
	for _, args := range [][]string{nil, {"--quiet"}, {"--output", "json"}, {"--progress", "json"}} {
		o := w.must(append([]string{"plan", "-c", forbids}, args...)...)
		if !strings.Contains(strings.ReplaceAll(o.stderr, `\"`, `"`), warning) {
			t.Errorf("plan %v does not warn\n%s", args, o.stderr)
		}
	}
}
