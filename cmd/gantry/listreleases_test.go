package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// asking runs the program with an update service and without registries.
type asking struct {
	t   *testing.T
	env map[string]string
}

// ask returns an asking for the update service at an address; "" is the product's service.
func ask(t *testing.T, address string) asking {
	return asking{t, map[string]string{updates.UpdateURLVariable: address, "HOME": t.TempDir(), "CONTAINERS_REGISTRIES_CONF": os.DevNull}}
}

func (k asking) gantry(args ...string) outcome {
	k.t.Helper()
	var stdout, stderr bytes.Buffer
	code := (&app{stdout: &stdout, stderr: &stderr, env: k.env}).run(args)
	if err := checkOutput(args, stdout.Bytes()); err != nil {
		k.t.Error(err)
	}
	return outcome{stdout.String(), stderr.String(), code}
}

// want runs the program and checks its exit status and output.
func (k asking) want(code int, stdout, stderr string, args ...string) {
	k.t.Helper()
	o := k.gantry(args...)
	if o.code != code {
		k.t.Errorf("gantry %s ended with %d, want %d\n%s", strings.Join(args, " "), o.code, code, o.stderr)
	}
	if diff := cmp.Diff(stdout, o.stdout); diff != "" {
		k.t.Errorf("gantry %s\n%s", strings.Join(args, " "), diff)
	}
	if diff := cmp.Diff(stderr, o.stderr); diff != "" {
		k.t.Errorf("gantry %s\n%s", strings.Join(args, " "), diff)
	}
}

// refuse runs the program and checks its exit status, and that stderr contains all words.
func (k asking) refuse(code int, words []string, args ...string) {
	k.t.Helper()
	o := k.gantry(args...)
	if o.code != code || o.stdout != "" {
		k.t.Errorf("gantry %s ended with %d, want %d\n%s%s", strings.Join(args, " "), o.code, code, o.stdout, o.stderr)
	}
	for _, word := range words {
		if !strings.Contains(o.stderr, word) {
			k.t.Errorf("gantry %s does not print %q:\n%s", strings.Join(args, " "), word, o.stderr)
		}
	}
}

// smallService serves the update graph of the small releases, in which every update to 4.20.1 has a risk for all clusters.
func smallService(t *testing.T) asking {
	t.Helper()
	u := releasetest.Small()
	u.Blocked[1].From = []string{"4.19.1", "4.19.2"}
	_, s := releasetest.Serve(t, u, registrytest.Options{})
	return ask(t, s.URL()+releasetest.GraphPath)
}

// TestListReleases checks the flags and the exit statuses. Package query tests the lists, package view their texts.
func TestListReleases(t *testing.T) {
	t.Parallel()
	k := smallService(t)
	k.want(exitOK, "CHANNEL      ARCH   HEAD    RELEASES\nstable-4.18  amd64  4.18.2  2\n", "", "list", "releases", "--channels", "--version", "4.18", "--filter-by-archs", "amd64,multi")
	// As in oc mirror, a version alone means its stable channel.
	all := k.gantry("list", "releases", "--channel", "stable-4.20", "--arch", "amd64")
	k.want(exitOK, all.stdout, "listing stable-4.20; --channels lists all channels of 4.20\n", "list", "releases", "--version=4.20")

	from := []string{"list", "releases", "--channel", "stable-4.20", "--from", "4.19.1", "--to", "4.20.1"}
	refused := k.gantry(append(from, "--forbid-risk", "PausedPools")...)
	if refused.code != exitUsage || !strings.Contains(refused.stdout, "risk SlowPulls: every cluster\n") || !strings.Contains(refused.stderr, "these risks apply to every cluster: SlowPulls; it can update to 4.19.2") {
		t.Errorf("a path that is not acceptable ended with %d\n%s%s", refused.code, refused.stdout, refused.stderr)
	}
	accepted := k.gantry(append(from, "--ignore-risks")...)
	k.want(exitOK, accepted.stdout, "no update of channel stable-4.20 for amd64 has the risk \"SlowPull\"; did you mean \"SlowPulls\"?\n",
		append(from, "--accept-risk", "SlowPulls", "--accept-risk", "SlowPull")...)

	o := k.gantry(append(from, "-o", "json")...)
	var got releases.ReleaseList
	var failed struct{ Error view.ErrorText }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || o.code != exitUsage || got.Version != 1 || len(got.Channels[0].Path.Hops) != 1 {
		t.Errorf("ended with %d, %v\n%s", o.code, err, o.stdout)
	}
	if err := json.Unmarshal([]byte(o.stderr), &failed); err != nil || failed.Error.Code != exitUsage {
		t.Errorf("the error is not a JSON object: %v\n%s", err, o.stderr)
	}
	// The list is present even if no updates lead on.
	if o := k.gantry("list", "releases", "--channel", "fast-4.20", "--from", "4.20.2", "-o", "json"); o.code != exitOK || !strings.Contains(o.stdout, `"releases":[]`) {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := k.gantry("list", "releases", "--version", "4.18", "--channels", "-o", "yaml"); !strings.HasPrefix(o.stdout, "---\nchannels:\n- arch: amd64\n  count: 2\n  head: 4.18.2\n  name: stable-4.18\n") {
		t.Errorf("got %s", o.stdout)
	}
	for args, words := range map[string]string{
		"--channels":                                  "--channel or --version is required",
		"--channel stable-4.20 --from 4.18.9":         "--from 4.18.9 is not in channel stable-4.20 for amd64; it has 4.18.2 and 4.19.1",
		"--channel stable-4.20 --from 4.20":           "--from \"4.20\"",
		"--channel stable-4.20 --to 4.20.1":           "give the version that the cluster runs with --from",
		"--version 4.20 --channels --from 4.18.1":     "--from and --to are for the releases of a channel",
		"--version 4.20 --product okd":                "name a channel with --channel",
		"--channel stable-4.20 -o csv":                "give one of text, json, yaml",
		"--channel stable-4.20 -c there-is-none.yaml": "reading the configuration",
		"--channel stable-4.20 and more":              "unknown command",
	} {
		k.refuse(exitUsage, []string{words}, append([]string{"list", "releases"}, strings.Fields(args)...)...)
	}
}

func TestGraphRelease(t *testing.T) {
	t.Parallel()
	k := smallService(t)
	for form, words := range map[string][]string{
		"text":    {"fast-4.20 for amd64\n6 releases and ", "Path: 4.18.1 -> 4.19.2 -> 4.20.2. 2 hops, no risks.\n"},
		"svg":     {"<svg ", "4.20.2", "stroke-dasharray", ">PausedPools<", "recommended if none of its risks applies"},
		"mermaid": {"flowchart LR", `-.->|"PausedPools"|`, "4.20.2"},
		"dot":     {"digraph gantry", `label="PausedPools"`, "style=dashed"},
	} {
		o := k.gantry("graph", "release", "fast-4.20", "--from", "4.18.1", "-o", form)
		for _, word := range words {
			if o.code != exitOK || !strings.Contains(o.stdout, word) {
				t.Errorf("%s ended with %d and does not contain %q\n%s%s", form, o.code, word, o.stdout, o.stderr)
			}
		}
	}
	o := k.gantry("graph", "release", "fast-4.20", "-o", "json")
	g, err := graph.Read(strings.NewReader(o.stdout))
	var again bytes.Buffer
	if err != nil || g.Write(&again) != nil || again.String() != o.stdout {
		t.Errorf("the graph is not canonical: %v\n%s", err, o.stdout)
	}
	// A path that a plan would refuse is drawn, with the exit status of the plan.
	o = k.gantry("graph", "release", "stable-4.20", "--from", "4.19.2")
	if o.code != exitUsage || !strings.Contains(o.stdout, "Path: 4.19.2 -> 4.20.1. 1 hop, 1 risk: SlowPulls") || !strings.Contains(o.stderr, "4.19.2 cannot be updated to 4.20.1") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for args, words := range map[string]string{
		"release":                           "accepts 1 arg(s), received 0",
		"release stable-4.20 stable-4.18":   "accepts 1 arg(s), received 2",
		"release stable-4.20 -o png":        "there are svg, mermaid, dot, json, text",
		"release stable-4.20 --from 4.18.7": "--from 4.18.7 is not in channel stable-4.20",
		"quay release":                      `"quay" is not a file or folder`, // the arguments for packages still work
	} {
		k.refuse(exitUsage, []string{words}, append([]string{"graph"}, strings.Fields(args)...)...)
	}
}

// TestReleaseContents checks the flags of the verbs that read a release. Package query tests what they read.
func TestReleaseContents(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	p := w.payload("4.20.2-x86_64")
	w.says(w.must("release", "info", "4.20.2").stdout, "Release 4.20.2 for amd64", "4 manifests")
	if got := w.must("release", "images", "4.20.2", "rhel-coreos").stdout; got != p.Content+"@"+p.Images["rhel-coreos"].String()+"\n" {
		t.Errorf("images prints %q", got)
	}
	included := w.must("release", "manifests", "4.20.2", "--included", "--capability-set", "None").stdout
	if all := w.must("release", "manifests", "4.20.2").stdout; !strings.HasPrefix(all, "---\n") || len(included) >= len(all) {
		t.Errorf("manifests prints\n%s", all)
	}
	if files := w.must("release", "manifests", "4.20.2", "--to", w.path("out")).stdout; !strings.Contains(files, "image-references\nrelease-metadata\n") || len(w.tree("out")) != strings.Count(files, "\n") {
		t.Errorf("manifests prints %s", files)
	}
	w.must("release", "credentials", "4.20.2", "--cloud", "aws")
	for args, words := range map[string]string{
		"manifests 4.20.2 --capability-set v4.9":        "--capability-set|v4.9",
		"manifests 4.20.2 --profile managed":            "--profile|self-managed-high-availability",
		"manifests 4.20.2 --feature-set Tech":           "--feature-set|",
		"manifests 4.20.2 --cloud aws":                  "--cloud|set --credentials-requests",
		"info 4.20":                                     "minor version|gantry list releases --version 4.20",
		"tools 4.20.2 --release-image " + p.Reference(): "--release-image|set --to",
		"boot-images 4.20.2 metal/isos":                 "has no boot image",
	} {
		w.refuse(exitUsage, strings.Split(words, "|"), append([]string{"release"}, strings.Fields(args)...)...)
	}
}
