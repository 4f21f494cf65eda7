package main

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/plan/proof"
)

// TestCheckOfPlatform checks the flags, the exit status and the text. Package check tests what is found.
func TestCheckOfPlatform(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	at, cfg := w.docker("/ocp"), w.config("imageset.yaml", "  platform:\n    graph: true\n    channels: [{name: fast-4.20, from: [4.20.1]}]\n")
	w.must("mirror", "-c", cfg, at)
	w.says(w.must("check", "--platform", at, "--read-blobs").stdout, "fast-4.20  amd64  4.20.1 -> 4.20.2  yes", "2 of 2 releases are complete")
	w.says(w.must("check", "--platform", "--from", "4.20.1", "--to", "4.20.2", "--channel", "fast-4.20", at).stdout, "4.20.1 -> 4.20.2  yes")
	if o := w.gantry("check", "--platform", "--from", "4.19.1", "--to", "4.20.2", "--channel", "fast-4.20", at); o.code != exitMismatch || !strings.Contains(o.stderr, "does not contain the installed release 4.19.1") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestFlagsInPlatformCheck checks that a report names flags in place of options.
func TestFlagsInPlatformCheck(t *testing.T) {
	t.Parallel()
	const option, flag = "Options.IgnoreReleaseSignature", "--ignore-release-signature"
	problems := func() []proof.Problem { return []proof.Problem{{Hint: option}} }
	r := &proof.Report{
		Notes: []string{option}, Problems: problems(), Releases: []proof.ReleaseReport{{Problems: problems()}},
		Updates: []proof.UpdateReport{{Hops: []proof.HopReport{{Problems: problems()}}}},
	}
	nameFlags(r)
	for _, got := range []string{r.Notes[0], r.Problems[0].Hint, r.Releases[0].Problems[0].Hint, r.Updates[0].Hops[0].Problems[0].Hint} {
		if got != flag {
			t.Errorf("the report has %q, want %q", got, flag)
		}
	}
}
