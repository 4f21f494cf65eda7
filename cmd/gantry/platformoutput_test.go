package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// TestPlatformPlan checks that the size of a release counts content that its images share only
// once.
func TestPlatformPlan(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", `  platform:
    graph: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`)
	const head = `Platform releases
  RELEASE        TAKEN FOR        SIGNED  IMAGES  SIZE
  4.18.1-x86_64  fast-4.20: from  yes     6       `
	const updates = `
Updates
  4.18.1 to 4.20.2 for amd64, in channel fast-4.20: 2 updates
    4.18.1 -> 4.19.2  to the next minor version
    4.19.2 -> 4.20.2  to the next minor version

Graph data for an update service
  `
	o := w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	w.says(o.stdout, head, updates, "(3 release, 15 component, 6 signature, 1 graph)")

	o = w.must("plan", "-c", cfg, "--ignore-release-signature")
	w.says(o.stdout, "4.18.1-x86_64  fast-4.20: from  NOT VERIFIED", "\n  NOT VERIFIED: the signature of 3 releases was not checked (--ignore-release-signature), and clusters may refuse them.\n")
}

func TestExplainPlatform(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", `  platform:
    channels:
    - name: fast-4.20
      from: [4.19.2]
`)
	w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	const way = "channel fast-4.20: path\n%on the update path from 4.19.2 to 4.20.2 in channel fast-4.20\n"
	for name, want := range map[string]string{
		"4.20.2":        "release 4.20.2-x86_64\n  erratum https://errata.example.com/2025/4.20.2\n  " + strings.ReplaceAll(way, "%", "  "),
		"4.20.2-x86_64": "release 4.20.2-x86_64\n  erratum https://errata.example.com/2025/4.20.2\n  " + strings.ReplaceAll(way, "%", "  "),
		"cli":           "  named by release 4.20.2-x86_64 as cli\n    " + strings.ReplaceAll(way, "%", "    "),
	} {
		w.says(w.must("explain", "--plan", w.path("plan.json"), name).stdout, want)
	}
	w.refuse(exitUsage, []string{`no image, bundle, package, release, chart or file "4.20.3"`, "4.20.2"}, "explain", "--plan", w.path("plan.json"), "4.20.3")
}

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
	p, err := signing.ReadPlan(w.path("plan.json"))
	if err != nil || len(p.Releases) != 1 || !p.Releases[0].Unverified || !strings.Contains(strings.Join(p.Notes, "\n"), "were not verified") {
		t.Errorf("the plan does not note the missing verification: %+v %q, %v", p.Releases, p.Notes, err)
	}
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
	o = w.must("mirror", "-c", forbids, w.docker("/forbids"), "--quiet", "--output", "json")
	for _, text := range []string{o.stdout, o.stderr} {
		if !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), warning) {
			t.Errorf("mirror does not warn\n%s", text)
		}
	}

	none := w.config("none.yaml", "  additionalImages:\n  - name: "+w.releases.Payload("4.20.2-x86_64").Reference()+"\n")
	w.says(w.must("plan", "-c", none, ignore).stderr, ignore+" has no effect: no platform release is mirrored")
	w.says(w.must("plan", "-c", none, "--release-key", key).stderr, "--release-key has no effect")
}

// TestArchiveReleases inspects archives that have releases.
func TestArchiveReleases(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	disk := fileScheme + w.path("disk")
	const stanza = "  platform:\n    channels:\n    - name: "
	w.must("mirror", "-c", w.config("imageset.yaml", stanza+"stable-4.20\n"), disk)
	w.must("mirror", "-c", w.config("imageset.yaml", stanza+"fast-4.20\n      minVersion: 4.20.1\n"), disk, "--ignore-release-signature")
	w.says(w.looked(exitOK, "archive", "inspect", disk).stdout,
		" (2 release, 9 component, ", "\nPlatform releases\n  4.20.1-x86_64  NOT VERIFIED\n  4.20.2-x86_64  NOT VERIFIED\n")
	o := w.looked(exitSomething, "archive", "diff", disk)
	w.says(o.stdout, "\nAdded: 1 platform release\n  4.20.2-x86_64\nAdded: ")
	var d inspect.ArchiveDifference
	if err := json.Unmarshal([]byte(w.looked(exitSomething, "archive", "diff", disk, "-o", "json").stdout), &d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"4.20.2-x86_64"}, nil}, [][]string{d.AddedReleases, d.RemovedReleases}); diff != "" {
		t.Error(diff)
	}
	w.says(w.looked(exitOK, "archive", "list", disk, "--filter", "*:4.20.2-x86_64").stdout, "openshift/release-images:4.20.2-x86_64")
}
