package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release/query"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release/updates"
	"github.com/gantry-mirror/gantry/plan"
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

// smallService serves the update graph of the small releases.
func smallService(t *testing.T) (asking, *registrytest.Server) {
	t.Helper()
	return serviceOf(t, releasetest.Small())
}

// blockedService serves the same graph, but every update to 4.20.1 has a risk for all clusters.
func blockedService(t *testing.T) (asking, *registrytest.Server) {
	t.Helper()
	u := releasetest.Small()
	u.Blocked[1].From = []string{"4.19.1", "4.19.2"}
	return serviceOf(t, u)
}

func serviceOf(t *testing.T, u releasetest.Definition) (asking, *registrytest.Server) {
	t.Helper()
	_, s := releasetest.Serve(t, u, registrytest.Options{})
	return ask(t, s.URL()+releasetest.GraphPath), s
}

func TestListReleases(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	k.want(exitOK, `VERSION        ERRATUM                                 CHANNELS
4.20.1   head  https://errata.example.com/2025/4.20.1  eus-4.20, fast-4.20, stable-4.20
4.19.2         https://errata.example.com/2025/4.19.2  eus-4.20, fast-4.20, stable-4.20
4.19.1         https://errata.example.com/2025/4.19.1  fast-4.20, stable-4.20
4.18.2         https://errata.example.com/2025/4.18.2  stable-4.18, eus-4.20, fast-4.20, stable-4.20
4.18.1         https://errata.example.com/2025/4.18.1  stable-4.18, eus-4.20, fast-4.20, stable-4.20
`, "", "list", "releases", "--channel", "stable-4.20")

	// As in oc mirror, a version alone means its stable channel.
	all := k.gantry("list", "releases", "--channel", "stable-4.20")
	k.want(exitOK, all.stdout, "listing stable-4.20; --channels lists all channels of 4.20\n", "list", "releases", "--version=4.20")

	// Releases that can be reached only through risks for every cluster are listed with the number
	// of these risks.
	b, _ := blockedService(t)
	b.want(exitOK, `VERSION        HOPS  RISKS                    ERRATUM
4.20.1   head  1     1 (1 for every cluster)  https://errata.example.com/2025/4.20.1
4.19.2         1     -                        https://errata.example.com/2025/4.19.2
`, "", "list", "releases", "--channel", "stable-4.20", "--from", "4.19.1")

	k.want(exitOK, `VERSION        HOPS  RISKS  ERRATUM
4.20.2   head  2     -      https://errata.example.com/2025/4.20.2
4.20.1         2     -      https://errata.example.com/2025/4.20.1
4.19.2         1     -      https://errata.example.com/2025/4.19.2
4.19.1         1     1      https://errata.example.com/2025/4.19.1
`, "", "list", "releases", "--channel", "fast-4.20", "--from", "4.18.2", "--arch", "amd64")
}

func TestListChannels(t *testing.T) {
	t.Parallel()
	k, s := smallService(t)
	k.want(exitOK, `CHANNEL      ARCH   HEAD    RELEASES
stable-4.20  amd64  4.20.1  5
stable-4.20  multi  4.20.1  1
eus-4.20     amd64  4.20.2  5
eus-4.20     multi  4.20.2  2
fast-4.20    amd64  4.20.2  6
fast-4.20    multi  4.20.2  2
`, "", "list", "releases", "--channels", "--version=4.20", "--filter-by-archs", "amd64,multi")
	k.want(exitOK, "CHANNEL      ARCH   HEAD    RELEASES\nstable-4.18  amd64  4.18.2  2\n", "", "list", "releases", "--channels", "--version", "4.18")
	if n := len(s.Log()); n != 12 {
		t.Errorf("%d requests were sent, want one for each channel and architecture", n)
	}
	k.want(exitOK, `eus-4.20 for amd64, from 4.20.1
VERSION        HOPS  RISKS  ERRATUM
4.20.2   head  1     -      https://errata.example.com/2025/4.20.2

eus-4.20 for multi, from 4.20.1
VERSION        HOPS  RISKS  ERRATUM
4.20.2   head  1     -      https://errata.example.com/2025/4.20.2
`, "", "list", "releases", "--channel", "eus-4.20", "--from", "4.20.1", "--arch", "x86_64", "--arch", "multi")
	k.refuse(exitUsage, []string{"--version 4.66: no channel has releases for amd64", "check the version"}, "list", "releases", "--channels", "--version", "4.66")
}

func TestListPath(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	k.want(exitOK, `Updates
  4.18.1 to 4.20.2 for amd64, in channel fast-4.20: 2 updates
    4.18.1 -> 4.19.2  to the next minor version
    4.19.2 -> 4.20.2  to the next minor version
`, "", "list", "releases", "--channel", "fast-4.20", "--from", "4.18.1", "--to", "4.20.2")

	// A path that is not acceptable is printed with its risks, and is an error.
	k, _ = blockedService(t)
	blocked := `Updates
  4.19.1 to 4.20.1 for amd64, in channel stable-4.20: 1 update
    4.19.1 -> 4.20.1  to the next minor version
      risk SlowPulls: every cluster%s

Risks of these updates
  SlowPulls
    Images with many layers are pulled slowly.
    https://issues.example.com/SlowPulls
    rule: Always, for every cluster
`
	from := []string{"list", "releases", "--channel", "stable-4.20", "--from", "4.19.1", "--to", "4.20.1"}
	k.want(exitUsage, fmt.Sprintf(blocked, ""), "gantry: channel stable-4.20 for amd64: 4.19.1 cannot be updated to 4.20.1: on its best path 4.19.1 -> 4.20.1, these risks apply to every cluster: SlowPulls; "+
		"it can update to 4.19.2, without risks to accept; accept them by name, or choose another target\n", append(from, "--forbid-risk", "PausedPools")...)
	k.want(exitOK, fmt.Sprintf(blocked, "; accepted"), "", append(from, "--ignore-risks")...)
	k.want(exitOK, fmt.Sprintf(blocked, "; accepted"), "no update of channel stable-4.20 for amd64 has the risk \"SlowPull\"; did you mean \"SlowPulls\"?\n",
		append(from, "--accept-risk", "SlowPulls", "--accept-risk", "SlowPull")...)
	o := k.gantry(append(from, "--forbid-risk", "SlowPulls")...)
	if o.code != exitUsage || !strings.Contains(o.stderr, "these risks are forbidden: SlowPulls") {
		t.Errorf("a forbidden risk was accepted: %d\n%s", o.code, o.stderr)
	}

	// There is no path.
	k.refuse(exitUsage, []string{"4.20.1 is newer than 4.18.1"}, "list", "releases", "--channel", "stable-4.20", "--from", "4.20.1", "--to", "4.18.1")
	k.want(exitOK, "Updates\n  4.20.1 to 4.20.1 for amd64, in channel stable-4.20: nothing to do\n", "", "list", "releases", "--channel", "stable-4.20", "--from", "4.20.1", "--to", "4.20.1")
	k.want(exitOK, "no updates lead from 4.20.1 to any release\n", "", "list", "releases", "--channel", "stable-4.20", "--from", "4.20.1")
}

// TestListFromSeveral checks that each version in --from has its list or its path, and that a path
// that is refused does not hide the others.
func TestListFromSeveral(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	paths := k.gantry("list", "releases", "--channel", "fast-4.20", "--from", "4.18.1", "--from", "4.20.1", "--to", "4.20.2")
	k.want(exitOK, `Updates
  4.18.1 to 4.20.2 for amd64, in channel fast-4.20: 2 updates
    4.18.1 -> 4.19.2  to the next minor version
    4.19.2 -> 4.20.2  to the next minor version
  4.20.1 to 4.20.2 for amd64, in channel fast-4.20: 1 update
    4.20.1 -> 4.20.2
`, "", "list", "releases", "--channel", "fast-4.20", "--from", "4.18.1,4.20.1", "--to", "4.20.2")
	if paths.code != exitOK || strings.Count(paths.stdout, " to 4.20.2 for amd64") != 2 {
		t.Errorf("ended with %d\n%s%s", paths.code, paths.stdout, paths.stderr)
	}
	k.want(exitOK, `fast-4.20 for amd64, from 4.19.2
VERSION        HOPS  RISKS  ERRATUM
4.20.2   head  1     -      https://errata.example.com/2025/4.20.2
4.20.1         1     -      https://errata.example.com/2025/4.20.1

fast-4.20 for amd64, from 4.20.1
VERSION        HOPS  RISKS  ERRATUM
4.20.2   head  1     -      https://errata.example.com/2025/4.20.2
`, "", "list", "releases", "--channel", "fast-4.20", "--from", "4.19.2", "--from", "4.20.1")
	o := k.gantry("list", "releases", "--channel", "fast-4.20", "--from", "4.20.1,4.18.2", "--to", "4.19.2")
	if o.code != exitUsage || !strings.Contains(o.stdout, "4.18.2 to 4.19.2 for amd64") || strings.Contains(o.stdout, "4.20.1") || !strings.Contains(o.stderr, "4.20.1 is newer than 4.19.2") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	o = k.gantry("graph", "release", "fast-4.20", "--from", "4.18.1,4.20.1")
	if o.code != exitOK || strings.Count(o.stdout, "Path: ") != 2 {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestListReleasesJSON(t *testing.T) {
	t.Parallel()
	k, s := smallService(t)
	o := k.gantry("list", "releases", "--channel", "fast-4.20", "--from", "4.18.2", "-o", "json")
	var got query.ReleaseList
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || o.code != exitOK {
		t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	for i := range got.Channels[0].Releases {
		got.Channels[0].Releases[i].Payload = "" // it differs in each run
	}
	channels := []string{"fast-4.20", "stable-4.20"}
	eus := []string{"eus-4.20", "fast-4.20", "stable-4.20"}
	want := query.ReleaseList{Version: 1, Product: "ocp", Channels: []query.ListedChannel{{
		Name: "fast-4.20", Arch: "amd64", Head: "4.20.2", Count: 6, From: "4.18.2",
		URL: s.URL() + releasetest.GraphPath + "?arch=amd64&channel=fast-4.20",
		Releases: []query.ListedRelease{
			{Version: "4.20.2", URL: "https://errata.example.com/2025/4.20.2", Channels: []string{"eus-4.20", "fast-4.20"}, Head: true, Reached: &query.Reached{Hops: 2}},
			{Version: "4.20.1", URL: "https://errata.example.com/2025/4.20.1", Channels: eus, Reached: &query.Reached{Hops: 2}},
			{Version: "4.19.2", URL: "https://errata.example.com/2025/4.19.2", Channels: eus, Reached: &query.Reached{Hops: 1}},
			{Version: "4.19.1", URL: "https://errata.example.com/2025/4.19.1", Channels: channels, Reached: &query.Reached{Hops: 1, Risks: 1}},
		},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	// The list is present even if no updates lead on.
	if o := k.gantry("list", "releases", "--channel", "fast-4.20", "--from", "4.20.2", "-o", "json"); o.code != exitOK || !strings.Contains(o.stdout, `"releases":[]`) {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}

	k, _ = blockedService(t)
	o = k.gantry("list", "releases", "--channel", "stable-4.20", "--from", "4.19.1", "--to", "4.20.1", "-o", "json")
	got = query.ReleaseList{}
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || o.code != exitUsage {
		t.Fatalf("%d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	path := &plan.UpdatePath{Product: "ocp", Arch: "amd64", Channel: "stable-4.20", From: "4.19.1", To: "4.20.1", Hops: []plan.Hop{{
		From: "4.19.1", To: "4.20.1", Risks: []plan.Risk{{
			Name: "SlowPulls", Message: "Images with many layers are pulled slowly.", URL: "https://issues.example.com/SlowPulls", Rules: []plan.RiskRule{{Type: "Always"}},
		}},
	}}}
	if diff := cmp.Diff(path, got.Channels[0].Path); diff != "" {
		t.Error(diff)
	}
	var failed struct{ Error view.ErrorText }
	if err := json.Unmarshal([]byte(o.stderr), &failed); err != nil || failed.Error.Code != exitUsage {
		t.Errorf("the error is not a JSON object: %v\n%s", err, o.stderr)
	}
	if o := k.gantry("list", "releases", "--version", "4.18", "--channels", "-o", "yaml"); !strings.HasPrefix(o.stdout, "---\nchannels:\n- arch: amd64\n  count: 2\n  head: 4.18.2\n  name: stable-4.18\n") {
		t.Errorf("got %s", o.stdout)
	}
}

func TestListReleasesRefuses(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	for args, words := range map[string]string{
		"--channels":                                               "--channel or --version is required",
		"--version 4.20.1":                                         "give the minor version as 4.20",
		"--channel stable-4.2":                                     "channel stable-4.2 has no releases for amd64 at " + k.env[updates.UpdateURLVariable],
		"--channel stable_4":                                       "invalid channel name",
		"--channel stabel-4.20":                                    `did you mean "stable-4.20"?`,
		"--channel eus-4.21":                                       "gantry list releases --version 4.21 --channels lists those that exist",
		"--channel stable-4.20 --version 4.20":                     "leave out one of them",
		"--channel stable-4.20 --to 4.20.1":                        "give the version that the cluster runs with --from",
		"--channel stable-4.20 --from 4.20":                        "--from \"4.20\"",
		"--channel stable-4.20 --from 4.18.9":                      "--from 4.18.9 is not in channel stable-4.20 for amd64; it has 4.18.2 and 4.19.1",
		"--channel stable-4.20 --from 4.18.1 --to 4.20.2":          "--to 4.20.2 is not in channel stable-4.20 for amd64; channel eus-4.20 has it",
		"--channel stable-4.20 --arch amd46":                       "did you mean",
		"--channel stable-4.20 --product rhel":                     "give ocp or okd",
		"--version 4.20 --product okd":                             "name a channel with --channel",
		"--version 4.20 --channels --from 4.18.1":                  "--from and --to are for the releases of a channel",
		"--channel stable-4.20 -o csv":                             "give one of text, json, yaml",
		"--channel a --from 4.0.1 --accept-risk A --forbid-risk A": "both accepted and forbidden",
		"--channel a --from 4.0.1 --accept-risk A --ignore-risks":  "leave out one of them",
		"--channel a --forbid-risk A":                              "give the version that the cluster runs with --from",
		"--channel stable-4.20 -c there-is-none.yaml":              "reading the configuration",
		"--channel stable-4.20 and more":                           "unknown command",
	} {
		k.refuse(exitUsage, []string{words}, append([]string{"list", "releases"}, strings.Fields(args)...)...)
	}
}

// TestListReleasesConfigured checks that the update service of a configuration is used unless the
// environment names another one.
func TestListReleasesConfigured(t *testing.T) {
	t.Parallel()
	_, s := smallService(t)
	k := ask(t, "")
	cfg := filepath.Join(t.TempDir(), "imageset.yaml")
	text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  platform:\n    updateService: " +
		s.URL() + releasetest.GraphPath + "\n    channels:\n    - name: stable-4.20\n"
	if err := os.WriteFile(cfg, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := k.gantry("list", "releases", "--channel", "stable-4.18", "-c", cfg); o.code != exitOK || strings.Count(o.stdout, "\n") != 3 {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	k.refuse(exitUsage, []string{`did you mean "stable-4.20"?`}, "list", "releases", "--channel", "stable-4.21", "-c", cfg)
}

// realService serves the graphs of real channels from a folder next to the checkout. It skips the
// test if the folder is missing.
func realService(t *testing.T) asking {
	t.Helper()
	const graphs = "../../../shared/graphs"
	if _, err := os.Stat(graphs); err != nil {
		t.Skip("there are no real graphs beside the checkout")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.FormValue("arch") + "-" + r.FormValue("channel") + ".json"
		w.Header().Set("Content-Type", "application/json")
		for _, dir := range []string{"derived", "recorded"} {
			if text, err := os.ReadFile(filepath.Join(graphs, dir, filepath.Base(name))); err == nil {
				_, _ = w.Write(text)
				return
			}
		}
		_, _ = w.Write([]byte(`{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}`))
	}))
	t.Cleanup(s.Close)
	return ask(t, s.URL+"/graph")
}

func TestListRealReleases(t *testing.T) {
	t.Parallel()
	k := realService(t)
	k.want(exitOK, `CHANNEL      ARCH   HEAD     RELEASES
stable-4.20  amd64  4.20.33  124
stable-4.20  multi  4.20.33  124
eus-4.20     amd64  4.20.33  124
`, "", "list", "releases", "--version", "4.20", "--channels", "--arch", "amd64,multi")
	o := k.gantry("list", "releases", "--channel", "eus-4.20", "--from", "4.18.20", "--to", "4.20.5")
	if o.code != exitUsage || !strings.Contains(o.stderr, "it can update to 4.20.3 and 4.20.8 with risks for some clusters, and to 4.19.41 and 4.20.20, and at most to 4.20.33, without risks to accept") {
		t.Errorf("ended with %d\n%s", o.code, o.stderr)
	}
	for _, word := range []string{"4.18.20 -> 4.19.17", "4.19.17 -> 4.20.5", "risk RuncShareProcessNamespace: every cluster", "https://issues.redhat.com/browse/RUN-3748", `cluster_installer{_id="",invoker="hypershift"}`} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("the path does not have %q:\n%s", word, o.stdout)
		}
	}
	if o := k.gantry("list", "releases", "--channel", "stable-4.20", "--from", "4.19.15", "--to", "4.20.10"); o.code != exitOK || !strings.Contains(o.stdout, "risk ARO420UDRWorkerNodesFail: clusters that match a query") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}
