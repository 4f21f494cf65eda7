package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/plan"
)

// platformPlan has everything that can be said of releases.
func platformPlan() *plan.Plan {
	slow := plan.Risk{
		Name: "SlowPulls", URL: "https://issues.example.com/SlowPulls", Accepted: true,
		Message: "Images with many layers are pulled slowly, which can take so long that the machine that pulls them is taken for lost.",
		Rules:   []plan.RiskRule{{Type: "Always"}},
	}
	paused := plan.Risk{
		Name: "PausedPools", Message: "Machines of paused pools lose the network.",
		Rules: []plan.RiskRule{{Type: "PromQL", PromQL: "group(cluster_paused_pools)\nor\n  0 * group(cluster_version)\n"}},
	}
	ack := plan.Ack{Name: "ack-4.19-x-in-4.20", Message: "Some API goes."}
	return &plan.Plan{
		Releases: []plan.Release{
			{Version: "4.19.1", Arch: "amd64", Reasons: []plan.ReleaseReason{{Reason: "from", Channel: "fast-4.20"}, {Reason: "from", Channel: "stable-4.20"}}},
			{Version: "4.20.1", Arch: "amd64", Reasons: []plan.ReleaseReason{{Reason: "path", Channel: "fast-4.20"}, {Reason: "range", Channel: "fast-4.20"}, {Reason: "path", Channel: "stable-4.20"}}, Unverified: true},
			{Version: "4.21.0", Arch: release.Multi, Reasons: []plan.ReleaseReason{{Reason: "release"}}},
		},
		Updates: []plan.UpdatePath{
			{Product: release.OCP, Arch: "amd64", Channel: "fast-4.20", From: "4.19.1", To: "4.20.2", Hops: []plan.Hop{
				{From: "4.19.1", To: "4.20.1", Risks: []plan.Risk{slow, paused}, Acks: []plan.Ack{ack}, Blockers: []plan.Blocker{
					{Catalog: "registry.example.com/index:v1", Package: "quay", Bundle: "quay.v1.0.0", Max: "4.19"},
				}},
				{From: "4.20.1", To: "4.20.2", Risks: []plan.Risk{slow}},
			}},
			{Product: release.OKD, Arch: "amd64", Channel: "stable-4.20", From: "4.20.2", To: "4.20.2"},
		},
		GraphData: &plan.GraphData{
			Source: "https://updates.example.com/graph-data", SHA256: "sha256:aaaaaaaaaaaaaaaa", Digest: "sha256:bbbbbbbbbbbbbbbb",
			Base: "quay.example.com/cli@sha256:cc", Repository: "openshift/graph-image", Tag: "latest",
		},
	}
}

func TestPlatformTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writePlatform(&b, platformPlan())
	const want = `Platform releases
  RELEASE        TAKEN FOR                                  SIGNED        IMAGES  SIZE
  4.19.1-x86_64  fast-4.20: from; stable-4.20: from         yes           0       0 B
  4.20.1-x86_64  fast-4.20: path, range; stable-4.20: path  NOT VERIFIED  0       0 B
  4.21.0-multi   release                                    yes           0       0 B
  NOT VERIFIED: nobody has checked who made 1 release (--ignore-release-signature), and clusters may refuse it.

Updates
  4.19.1 to 4.20.2 for amd64, in channel fast-4.20: 2 updates
    4.19.1 -> 4.20.1  to the next minor version
      risk SlowPulls: every cluster; accepted
      risk PausedPools: clusters that a query finds
      to acknowledge: ack-4.19-x-in-4.20
      held up by operator quay of catalog registry.example.com/index:v1: no bundle here goes beyond OpenShift 4.19 (quay.v1.0.0)
    4.20.1 -> 4.20.2
      risk SlowPulls: every cluster; accepted
  4.20.2 to 4.20.2 for amd64, in channel stable-4.20 of OKD: nothing to do

Risks of these updates
  SlowPulls
    Images with many layers are pulled slowly, which can take so long that the machine that pulls them
    is taken for lost.
    https://issues.example.com/SlowPulls
    rule: Always, for every cluster
  PausedPools
    Machines of paused pools lose the network.
    rule: PromQL, for clusters where this is 1
      group(cluster_paused_pools)
      or
        0 * group(cluster_version)

To acknowledge before the update, in ConfigMap openshift-config/admin-acks
  ack-4.19-x-in-4.20
    Some API goes.

Graph data for an update service
  https://updates.example.com/graph-data (sha256:aaaaaaaaaaaa)
  becomes openshift/graph-image:latest (built on quay.example.com/cli@sha256:cc, sha256:bbbbbbbbbbbb)

`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// A release's size is that of all it brings, what its images share counted once.
func TestPlatformPlan(t *testing.T) {
	t.Parallel()
	w := newSmallWorld(t)
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
	w.says(o.stdout, "4.18.1-x86_64  fast-4.20: from  NOT VERIFIED", "\n  NOT VERIFIED: nobody has checked who made 3 releases (--ignore-release-signature), and clusters may refuse them.\n")
}

func TestExplainPlatform(t *testing.T) {
	t.Parallel()
	w := newSmallWorld(t)
	cfg := w.config("imageset.yaml", `  platform:
    channels:
    - name: fast-4.20
      from: [4.19.2]
`)
	w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	const way = "channel fast-4.20: path\n%on the way from 4.19.2 to 4.20.2 in channel fast-4.20\n"
	for name, want := range map[string]string{
		"4.20.2":        "release 4.20.2-x86_64\n  " + strings.ReplaceAll(way, "%", "  "),
		"4.20.2-x86_64": "release 4.20.2-x86_64\n  " + strings.ReplaceAll(way, "%", "  "),
		"cli":           "  named by release 4.20.2-x86_64 as cli\n    " + strings.ReplaceAll(way, "%", "    "),
	} {
		w.says(w.must("explain", "--plan", w.path("plan.json"), name).stdout, want)
	}
	w.refuse(exitUsage, []string{`no image, bundle, package or release "4.20.3"`, "4.20.2"}, "explain", "--plan", w.path("plan.json"), "4.20.3")
}

// TestReleaseFlags says what the flags do where they do nothing, and that together
// they say nothing.
func TestReleaseFlags(t *testing.T) {
	t.Parallel()
	w := newSmallWorld(t)
	cfg := w.config("imageset.yaml", "  platform:\n    graph: true\n    channels:\n    - name: fast-4.20\n")
	const ignore = "--ignore-release-signature"
	o := w.must("plan", "-c", cfg, ignore, "-o", w.path("plan.json"))
	w.says(o.stderr, "taken without a look at their signatures ("+ignore+")")
	w.says(o.stdout, "nobody has checked who made 1 release ("+ignore+"): nothing says")
	p, err := readPlan(w.path("plan.json"))
	if err != nil || len(p.Releases) != 1 || !p.Releases[0].Unverified || !strings.Contains(strings.Join(p.Notes, "\n"), ignore) {
		t.Errorf("the plan does not say that it is not verified: %+v %q, %v", p.Releases, p.Notes, err)
	}
	key := w.env[signatureKeyVariable]
	w.refuse(exitUsage, []string{"contradict each other", "leave one of them out"}, "plan", "-c", cfg, ignore, "--release-key", key)

	// A misspelt risk that is to be forbidden is taken, which no form of output hides.
	forbids := w.config("forbids.yaml", "  platform:\n    channels:\n    - name: stable-4.20\n      risks: {forbid: [PausedPoools]}\n")
	const warning = `no update of channel stable-4.20 has the risk "PausedPoools", so that forbidding it (risks.forbid) keeps no update away; did you mean "PausedPools"?`
	for _, args := range [][]string{nil, {"--quiet"}, {"-o", "json"}, {"--progress", "json"}} {
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
	w.says(w.must("plan", "-c", none, ignore).stderr, ignore+" changes nothing: no platform release is mirrored")
	w.says(w.must("plan", "-c", none, "--release-key", key).stderr, "--release-key changes nothing")
}

// TestArchiveReleases looks at archives that have releases.
func TestArchiveReleases(t *testing.T) {
	t.Parallel()
	w := newSmallWorld(t)
	disk := fileScheme + w.path("disk")
	const stanza = "  platform:\n    channels:\n    - name: "
	w.must("mirror", "-c", w.config("imageset.yaml", stanza+"stable-4.20\n"), disk)
	w.must("mirror", "-c", w.config("imageset.yaml", stanza+"fast-4.20\n      minVersion: 4.20.1\n"), disk, "--ignore-release-signature")
	w.says(w.looked(exitOK, "archive", "inspect", disk).stdout,
		" (2 release, 9 component, ", "\nPlatform releases\n  4.20.1-x86_64  NOT VERIFIED\n  4.20.2-x86_64  NOT VERIFIED\n")
	o := w.looked(exitSomething, "archive", "diff", disk)
	w.says(o.stdout, "\nAdded: 1 platform release\n  4.20.2-x86_64\nAdded: ")
	var d archiveDifference
	if err := json.Unmarshal([]byte(w.looked(exitSomething, "archive", "diff", disk, "-o", "json").stdout), &d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"4.20.2-x86_64"}, nil}, [][]string{d.AddedReleases, d.RemovedReleases}); diff != "" {
		t.Error(diff)
	}
	w.says(w.looked(exitOK, "archive", "list", disk, "--filter", "*:4.20.2-x86_64").stdout, "openshift/release-images:4.20.2-x86_64")
}
