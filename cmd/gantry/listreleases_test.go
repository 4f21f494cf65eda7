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

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
	"github.com/gantry-mirror/gantry/plan"
)

// asking is somebody who asks an update service and has nothing else.
type asking struct {
	t   *testing.T
	env map[string]string
}

// ask makes one for the service at an address, "" being that of the product.
func ask(t *testing.T, address string) asking {
	return asking{t, map[string]string{updateURLVariable: address, "HOME": t.TempDir(), "CONTAINERS_REGISTRIES_CONF": os.DevNull}}
}

func (k asking) gantry(args ...string) outcome {
	k.t.Helper()
	var stdout, stderr bytes.Buffer
	code := (&app{stdout: &stdout, stderr: &stderr, env: k.env}).run(args)
	return outcome{stdout.String(), stderr.String(), code}
}

// want runs the program and wants it to end so, and to print this.
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

// refuse runs the program and wants it to end so, and to say all of this.
func (k asking) refuse(code int, words []string, args ...string) {
	k.t.Helper()
	o := k.gantry(args...)
	if o.code != code || o.stdout != "" {
		k.t.Errorf("gantry %s ended with %d, want %d\n%s%s", strings.Join(args, " "), o.code, code, o.stdout, o.stderr)
	}
	for _, word := range words {
		if !strings.Contains(o.stderr, word) {
			k.t.Errorf("gantry %s does not say %q:\n%s", strings.Join(args, " "), word, o.stderr)
		}
	}
}

// smallService is the update service of the small releases.
func smallService(t *testing.T) (asking, *registrytest.Server) {
	t.Helper()
	return serviceOf(t, releasetest.Small())
}

// blockedService is the same, but every update to 4.20.1 has a risk for all clusters.
func blockedService(t *testing.T) (asking, *registrytest.Server) {
	t.Helper()
	u := releasetest.Small()
	u.Blocked[1].From = []string{"4.19.1", "4.19.2"}
	return serviceOf(t, u)
}

func serviceOf(t *testing.T, u releasetest.Universe) (asking, *registrytest.Server) {
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

	// As oc mirror has it, a version alone means its stable channel.
	all := k.gantry("list", "releases", "--channel", "stable-4.20")
	k.want(exitOK, all.stdout, "Listing stable-4.20; --channels lists all channels of 4.20.\n", "list", "releases", "--version=4.20")

	// What is reached with a risk for every cluster only is listed, and says so.
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
		t.Errorf("%d questions were asked, want one for each channel and architecture", n)
	}
	k.want(exitOK, `eus-4.20 for amd64
VERSION        HOPS  RISKS  ERRATUM
4.20.2   head  1     -      https://errata.example.com/2025/4.20.2

eus-4.20 for multi
VERSION        HOPS  RISKS  ERRATUM
4.20.2   head  1     -      https://errata.example.com/2025/4.20.2
`, "", "list", "releases", "--channel", "eus-4.20", "--from", "4.20.1", "--arch", "x86_64", "--arch", "multi")
	k.refuse(exitUsage, []string{"--version 4.66: no channel has releases of it for amd64", "check the version"}, "list", "releases", "--channels", "--version", "4.66")
}

func TestListPath(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	k.want(exitOK, `Updates
  4.18.1 to 4.20.2 for amd64, in channel fast-4.20: 2 updates
    4.18.1 -> 4.19.2  to the next minor version
    4.19.2 -> 4.20.2  to the next minor version
`, "", "list", "releases", "--channel", "fast-4.20", "--from", "4.18.1", "--to", "4.20.2")

	// A path that may not be taken is printed, risks and all, beside the error.
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
	k.want(exitUsage, fmt.Sprintf(blocked, ""), "gantry: channel stable-4.20 for amd64: 4.19.1 does not get to 4.20.1 as it should: "+
		"of its best path 4.19.1 -> 4.20.1, these risks apply to every cluster: SlowPulls; accept them by name or choose another target: "+
		"it gets to 4.19.2, without risks to accept\n", append(from, "--forbid-risk", "PausedPools")...)
	k.want(exitOK, fmt.Sprintf(blocked, "; accepted"), "", append(from, "--ignore-risks")...)
	k.want(exitOK, fmt.Sprintf(blocked, "; accepted"), "no update of channel stable-4.20 for amd64 has the risk \"SlowPull\"; did you mean \"SlowPulls\"?\n",
		append(from, "--accept-risk", "SlowPulls", "--accept-risk", "SlowPull")...)
	o := k.gantry(append(from, "--forbid-risk", "SlowPulls")...)
	if o.code != exitUsage || !strings.Contains(o.stderr, "these risks are forbidden: SlowPulls") {
		t.Errorf("a forbidden risk was taken: %d\n%s", o.code, o.stderr)
	}

	// Nothing leads there at all.
	k.refuse(exitUsage, []string{"4.20.1 is newer than 4.18.1"}, "list", "releases", "--channel", "stable-4.20", "--from", "4.20.1", "--to", "4.18.1")
	k.want(exitOK, "Updates\n  4.20.1 to 4.20.1 for amd64, in channel stable-4.20: nothing to do\n", "", "list", "releases", "--channel", "stable-4.20", "--from", "4.20.1", "--to", "4.20.1")
	k.want(exitOK, "no updates lead from 4.20.1 to any release\n", "", "list", "releases", "--channel", "stable-4.20", "--from", "4.20.1")
}

func TestListReleasesJSON(t *testing.T) {
	t.Parallel()
	k, s := smallService(t)
	o := k.gantry("list", "releases", "--channel", "fast-4.20", "--from", "4.18.2", "-o", "json")
	var got releaseListing
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || o.code != exitOK {
		t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	for i := range got.Channels[0].Releases {
		got.Channels[0].Releases[i].Payload = "" // another one in each run
	}
	channels := []string{"fast-4.20", "stable-4.20"}
	eus := []string{"eus-4.20", "fast-4.20", "stable-4.20"}
	want := releaseListing{Version: 1, Product: "ocp", Channels: []listedReleases{{
		Name: "fast-4.20", Arch: "amd64", Head: "4.20.2", Count: 6, From: "4.18.2",
		URL: s.URL() + releasetest.GraphPath + "?arch=amd64&channel=fast-4.20",
		Releases: []listedRelease{
			{Version: "4.20.2", URL: "https://errata.example.com/2025/4.20.2", Channels: []string{"eus-4.20", "fast-4.20"}, Head: true, Reached: &reached{Hops: 2}},
			{Version: "4.20.1", URL: "https://errata.example.com/2025/4.20.1", Channels: eus, Reached: &reached{Hops: 2}},
			{Version: "4.19.2", URL: "https://errata.example.com/2025/4.19.2", Channels: eus, Reached: &reached{Hops: 1}},
			{Version: "4.19.1", URL: "https://errata.example.com/2025/4.19.1", Channels: channels, Reached: &reached{Hops: 1, Risks: 1}},
		},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	k, _ = blockedService(t)
	o = k.gantry("list", "releases", "--channel", "stable-4.20", "--from", "4.19.1", "--to", "4.20.1", "-o", "json")
	got = releaseListing{}
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
	var failed struct{ Error errorText }
	if err := json.Unmarshal([]byte(o.stderr), &failed); err != nil || failed.Error.Code != exitUsage {
		t.Errorf("the error is no object: %v\n%s", err, o.stderr)
	}
	if o := k.gantry("list", "releases", "--version", "4.18", "--channels", "-o", "yaml"); !strings.HasPrefix(o.stdout, "---\nchannels:\n- arch: amd64\n  count: 2\n  head: 4.18.2\n  name: stable-4.18\n") {
		t.Errorf("got %s", o.stdout)
	}
}

func TestListReleasesRefuses(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	for args, words := range map[string]string{
		"":                                     "give --channel stable-4.20",
		"--channels":                           "what is to be listed?",
		"--version 4.20.1":                     "give the minor version as 4.20",
		"--channel stable-4.2":                 "channel stable-4.2 has no releases for amd64 at " + k.env[updateURLVariable],
		"--channel stable_4":                   "it is no name of a channel",
		"--channel stabel-4.20":                `did you mean "stable-4.20"?`,
		"--channel eus-4.21":                   "gantry list releases --version 4.21 --channels lists those that exist",
		"--channel stable-4.20 --version 4.20": "leave out one of them",
		"--channel stable-4.20 --to 4.20.1":    "say with --from what the cluster runs",
		"--channel stable-4.20 --from 4.20":    "--from \"4.20\"",
		"--channel stable-4.20 --from 4.18.9":  "--from 4.18.9 is not in channel stable-4.20 for amd64: it has 4.18.2 and 4.19.1",
		"--channel stable-4.20 --from 4.18.1 --to 4.20.2":          "--to 4.20.2 is not in channel stable-4.20 for amd64: channel eus-4.20 has it",
		"--channel stable-4.20 --arch amd46":                       "did you mean",
		"--channel stable-4.20 --product rhel":                     "give ocp or okd",
		"--version 4.20 --product okd":                             "name a channel with --channel",
		"--version 4.20 --channels --from 4.18.1":                  "--from and --to are for the releases of a channel",
		"--channel stable-4.20 -o csv":                             "give one of text, json, yaml",
		"--channel a --from 4.0.1 --accept-risk A --forbid-risk A": "both accepted and forbidden",
		"--channel a --from 4.0.1 --accept-risk A --ignore-risks":  "leave out one of them",
		"--channel a --forbid-risk A":                              "say with --from what the cluster runs",
		"--channel stable-4.20 -c there-is-none.yaml":              "reading the configuration",
		"--channel stable-4.20 and more":                           "unknown command",
	} {
		k.refuse(exitUsage, []string{words}, append([]string{"list", "releases"}, strings.Fields(args)...)...)
	}
}

// The update service of a configuration is asked, unless the environment names one.
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

// realService answers with the graphs of real channels, which stand beside the
// checkout where the project is worked on, as update services do.
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
	if o.code != exitUsage || !strings.Contains(o.stderr, "it gets to 4.20.3 and 4.20.8 with risks for some clusters, and to 4.19.41 and 4.20.20, and at most to 4.20.33, without risks to accept") {
		t.Errorf("ended with %d\n%s", o.code, o.stderr)
	}
	for _, word := range []string{"4.18.20 -> 4.19.17", "4.19.17 -> 4.20.5", "risk RuncShareProcessNamespace: every cluster", "https://issues.redhat.com/browse/RUN-3748", `cluster_installer{_id="",invoker="hypershift"}`} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("the path does not have %q:\n%s", word, o.stdout)
		}
	}
	if o := k.gantry("list", "releases", "--channel", "stable-4.20", "--from", "4.19.15", "--to", "4.20.10"); o.code != exitOK || !strings.Contains(o.stdout, "risk ARO420UDRWorkerNodesFail: clusters that a query finds") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}
