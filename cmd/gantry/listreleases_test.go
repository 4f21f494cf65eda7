package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/releases"
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
	if diff := cmp.Diff(outcome{stdout, stderr, code}, k.gantry(args...), cmp.AllowUnexported(outcome{})); diff != "" {
		k.t.Errorf("gantry %s\n%s", strings.Join(args, " "), diff)
	}
}

// refuse runs the program and checks its exit status, that stderr contains all words, and that nothing is printed.
func (k asking) refuse(code int, words []string, args ...string) {
	k.t.Helper()
	o := k.gantry(args...)
	for _, word := range words {
		if o.code != code || o.stdout != "" || !strings.Contains(o.stderr, word) {
			k.t.Errorf("gantry %s ended with %d, want %d and %q\n%s%s", strings.Join(args, " "), o.code, code, word, o.stdout, o.stderr)
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

// TestListReleases checks the flags and the exit statuses of list releases and graph release. Package query tests the
// lists and graphs, package view their texts, and TestScripts/list-releases has whole outputs.
func TestListReleases(t *testing.T) {
	t.Parallel()
	k := smallService(t)
	k.want(exitOK, "CHANNEL      ARCH   HEAD    RELEASES\nstable-4.18  amd64  4.18.2  2\n", "", "list", "releases", "--channels", "--version", "4.18", "--filter-by-archs", "amd64,multi")
	// As in oc mirror, a version alone means its stable channel.
	all := k.gantry("list", "releases", "--channel", "stable-4.20", "--arch", "amd64")
	k.want(exitOK, all.stdout, "listing stable-4.20; --channels lists all channels of 4.20\n", "list", "releases", "--version=4.20")
	from := []string{"list", "releases", "--channel", "stable-4.20", "--from", "4.19.1", "--to", "4.20.1"}
	accepted := k.gantry(append(from, "--ignore-risks")...)
	k.want(exitOK, accepted.stdout, "no update of channel stable-4.20 for amd64 has the risk \"SlowPull\"; did you mean \"SlowPulls\"?\n",
		append(from, "--accept-risk", "SlowPulls", "--accept-risk", "SlowPull")...)
	o := k.gantry(append(from, "-o", "json")...)
	var got releases.ReleaseList
	var failed struct{ Error view.ErrorText }
	if err := errors.Join(json.Unmarshal([]byte(o.stdout), &got), json.Unmarshal([]byte(o.stderr), &failed)); err != nil || o.code != exitUsage || failed.Error.Code != exitUsage || len(got.Channels[0].Path.Hops) != 1 {
		t.Errorf("ended with %d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	if o := k.gantry("list", "releases", "--version", "4.18", "--channels", "-o", "yaml"); !strings.HasPrefix(o.stdout, "---\nchannels:\n- arch: amd64\n  count: 2\n  head: 4.18.2\n  name: stable-4.18\n") {
		t.Errorf("got %s", o.stdout)
	}
	for form, words := range map[string]string{"svg": "<svg ", "dot": "digraph gantry", "json": `"nodes":`} {
		if o := k.gantry("graph", "release", "fast-4.20", "--from", "4.18.1", "-o", form); o.code != exitOK || !strings.Contains(o.stdout, words) {
			t.Errorf("%s ended with %d\n%s%s", form, o.code, o.stdout, o.stderr)
		}
	}
	// A path that a plan would refuse is drawn, with the exit status of the plan.
	o = k.gantry("graph", "release", "stable-4.20", "--from", "4.19.2")
	if o.code != exitUsage || !strings.Contains(o.stdout, "Path: 4.19.2 -> 4.20.1. 1 hop, 1 risk: SlowPulls") || !strings.Contains(o.stderr, "4.19.2 cannot be updated to 4.20.1") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for args, words := range map[string]string{
		"list releases --channels":                              "--channel or --version is required",
		"list releases --channel stable-4.20 --from 4.18.9":     "--from 4.18.9 is not in channel stable-4.20 for amd64; it has 4.18.2 and 4.19.1",
		"list releases --channel stable-4.20 --to 4.20.1":       "give the version that the cluster runs with --from",
		"list releases --version 4.20 --channels --from 4.18.1": "--from and --to are for the releases of a channel",
		"list releases --version 4.20 --product okd":            "name a channel with --channel",
		"list releases --channel stable-4.20 -o csv":            "give one of text, wide, json, yaml",
		"list releases --channel stable-4.20 and more":          "\"and\" selects releases of a mirror",
		"graph release":                           "1 argument is missing",
		"graph release stable-4.20 -o png":        "there are svg, mermaid, dot, json, text",
		"graph release stable-4.20 --from 4.18.7": "--from 4.18.7 is not in channel stable-4.20",
		"graph quay release":                      `"quay" is not a file or folder`, // the arguments for packages still work
	} {
		k.refuse(exitUsage, []string{words}, strings.Fields(args)...)
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
