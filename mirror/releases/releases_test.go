package releases_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

// blocked is the small platform, but every update to 4.20.1 has a risk for all clusters.
func blocked() releasetest.Definition {
	d := releasetest.Small()
	d.Blocked[1].From = []string{"4.19.1", "4.19.2"}
	return d
}

// listed returns a list as text: each channel, and its releases or the hops of its path.
func listed(l *releases.ReleaseList) (lines []string) {
	if l == nil {
		return nil
	}
	for _, c := range l.Channels {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %d %s", c.Name, c.Arch, c.Head, c.Count, c.From)))
		for _, r := range c.Releases {
			line := "  " + r.Version
			if r.Head {
				line += " head"
			}
			if r.Reached != nil {
				line += fmt.Sprintf(" %d hops, %d risks, %d always", r.Reached.Hops, r.Reached.Risks, r.Reached.Always)
			}
			lines = append(lines, line)
		}
		if c.Path == nil {
			continue
		}
		for _, h := range c.Path.Hops {
			lines = append(lines, fmt.Sprintf("  %s -> %s", h.From, h.To))
		}
	}
	return lines
}

func TestReleases(t *testing.T) {
	t.Parallel()
	small, service := mirrortest.UpdateService(t, releasetest.Small())
	risky, _ := mirrortest.UpdateService(t, blocked())
	other := releasetest.Small()
	delete(other.Channels, "stable-4.20")
	unstable, _ := mirrortest.UpdateService(t, other)
	stable := []string{"stable-4.20 amd64 4.20.1 5", "  4.20.1 head", "  4.19.2", "  4.19.1", "  4.18.2", "  4.18.1"}
	from := func(versions ...string) releases.ReleaseQuery { return releases.ReleaseQuery{From: versions} }
	to := func(version string, versions ...string) releases.ReleaseQuery {
		return releases.ReleaseQuery{From: versions, To: version}
	}
	for _, tc := range []struct {
		name string
		env  *env.Env
		ask  releases.ListOptions
		want []string
	}{
		{"a channel", small, releases.ListOptions{Channel: "stable-4.20"}, stable},
		{"the stable channel of a version, as in oc mirror", small, releases.ListOptions{Version: "4.20"}, stable},
		{"updates with risks", small, releases.ListOptions{Channel: "fast-4.20", Arch: []string{"amd64"}, ReleaseQuery: from("4.18.2")}, []string{
			"fast-4.20 amd64 4.20.2 6 4.18.2", "  4.20.2 head 2 hops, 0 risks, 0 always", "  4.20.1 2 hops, 0 risks, 0 always",
			"  4.19.2 1 hops, 0 risks, 0 always", "  4.19.1 1 hops, 1 risks, 0 always",
		}},
		{"a release that is reached only through a risk of every cluster", risky, releases.ListOptions{Channel: "stable-4.20", ReleaseQuery: from("4.19.1")}, []string{
			"stable-4.20 amd64 4.20.1 5 4.19.1", "  4.20.1 head 1 hops, 1 risks, 1 always", "  4.19.2 1 hops, 0 risks, 0 always",
		}},
		{"channels", small, releases.ListOptions{Version: "4.20", Channels: true, Arch: []string{"amd64", "multi"}}, []string{
			"stable-4.20 amd64 4.20.1 5", "stable-4.20 multi 4.20.1 1", "eus-4.20 amd64 4.20.2 5", "eus-4.20 multi 4.20.2 2",
			"fast-4.20 amd64 4.20.2 6", "fast-4.20 multi 4.20.2 2",
		}},
		{"one channel", small, releases.ListOptions{Version: "4.18", Channels: true}, []string{"stable-4.18 amd64 4.18.2 2"}},
		{"a channel of each version", small, releases.ListOptions{Arch: []string{"amd64", "multi"}}, []string{"stable-4.20 amd64 4.20.1 5", "stable-4.20 multi 4.20.1 1", "stable-4.18 amd64 4.18.2 2"}},
		{"a version without a stable channel", unstable, releases.ListOptions{}, []string{"eus-4.20 amd64 4.20.2 5", "stable-4.18 amd64 4.18.2 2"}},
		{"several architectures", small, releases.ListOptions{Channel: "eus-4.20", Arch: []string{"x86_64", "multi"}, ReleaseQuery: from("4.20.1")}, []string{
			"eus-4.20 amd64 4.20.2 5 4.20.1", "  4.20.2 head 1 hops, 0 risks, 0 always",
			"eus-4.20 multi 4.20.2 2 4.20.1", "  4.20.2 head 1 hops, 0 risks, 0 always",
		}},
		{"several versions", small, releases.ListOptions{Channel: "fast-4.20", ReleaseQuery: from("4.19.2", "4.20.1")}, []string{
			"fast-4.20 amd64 4.20.2 6 4.19.2", "  4.20.2 head 1 hops, 0 risks, 0 always", "  4.20.1 1 hops, 0 risks, 0 always",
			"fast-4.20 amd64 4.20.2 6 4.20.1", "  4.20.2 head 1 hops, 0 risks, 0 always",
		}},
		{"paths", small, releases.ListOptions{Channel: "fast-4.20", ReleaseQuery: to("4.20.2", "4.18.1", "4.20.1")}, []string{
			"fast-4.20 amd64 4.20.2 6 4.18.1", "  4.18.1 -> 4.19.2", "  4.19.2 -> 4.20.2", "fast-4.20 amd64 4.20.2 6 4.20.1", "  4.20.1 -> 4.20.2",
		}},
		{"nothing to do", small, releases.ListOptions{Channel: "stable-4.20", ReleaseQuery: to("4.20.1", "4.20.1")}, []string{"stable-4.20 amd64 4.20.1 5 4.20.1"}},
		{"no updates", small, releases.ListOptions{Channel: "stable-4.20", ReleaseQuery: from("4.20.1")}, []string{"stable-4.20 amd64 4.20.1 5 4.20.1"}},
	} {
		service.ResetLog()
		tc.ask.Env = tc.env
		got, err := releases.Releases(t.Context(), tc.ask)
		if diff := cmp.Diff(tc.want, listed(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
		}
		if n := len(service.Log()); tc.name == "channels" && n != 4*2 {
			t.Errorf("%d requests were sent, want one for each channel and architecture", n)
		}
	}
}

// TestListedRelease checks all values of a list.
func TestListedRelease(t *testing.T) {
	t.Parallel()
	e, service := mirrortest.UpdateService(t, releasetest.Small())
	got, err := releases.Releases(t.Context(), releases.ListOptions{Env: e, Channel: "fast-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.18.2"}}})
	fail.On(t, err)
	for i := range got.Channels[0].Releases {
		got.Channels[0].Releases[i].Payload = "" // it differs in each run
	}
	eus := []string{"eus-4.20", "fast-4.20", "stable-4.20"}
	const errata = "https://errata.example.com/2025/"
	want := &releases.ReleaseList{Version: 1, Product: "ocp", Channels: []releases.ListedChannel{{
		Name: "fast-4.20", Arch: "amd64", Head: "4.20.2", Count: 6, From: "4.18.2",
		URL: service.URL() + releasetest.GraphPath + "?arch=amd64&channel=fast-4.20",
		Releases: []releases.ListedRelease{
			{Version: "4.20.2", URL: errata + "4.20.2", Channels: []string{"eus-4.20", "fast-4.20"}, Head: true, Reached: &releases.Reached{Hops: 2}},
			{Version: "4.20.1", URL: errata + "4.20.1", Channels: eus, Reached: &releases.Reached{Hops: 2}},
			{Version: "4.19.2", URL: errata + "4.19.2", Channels: eus, Reached: &releases.Reached{Hops: 1}},
			{Version: "4.19.1", URL: errata + "4.19.1", Channels: []string{"fast-4.20", "stable-4.20"}, Reached: &releases.Reached{Hops: 1, Risks: 1}},
		},
	}}}
	fail.Diff(t, want, got)
}

// TestReleasePathWithRisks checks that a path that is not acceptable is returned with its risks, and an error.
func TestReleasePathWithRisks(t *testing.T) {
	t.Parallel()
	e, _ := mirrortest.UpdateService(t, blocked())
	risk := plan.Risk{Name: "SlowPulls", Message: "Images with many layers are pulled slowly.", URL: "https://issues.example.com/SlowPulls", Rules: []plan.RiskRule{{Type: "Always"}}}
	for _, tc := range []struct {
		ask     releases.ReleaseQuery
		refused string // "" if the path is accepted
	}{
		{releases.ReleaseQuery{ForbidRisk: []string{"PausedPools"}}, "on its best path 4.19.1 -> 4.20.1, these risks apply to every cluster: SlowPulls; " +
			"it can update to 4.19.2, without risks to accept; accept them by name, or choose another target"},
		{releases.ReleaseQuery{ForbidRisk: []string{"SlowPulls"}}, "these risks are forbidden: SlowPulls"},
		{releases.ReleaseQuery{IgnoreRisks: true}, ""},
		{releases.ReleaseQuery{AcceptRisk: []string{"SlowPulls"}}, ""},
	} {
		tc.ask.From, tc.ask.To = []string{"4.19.1"}, "4.20.1"
		got, err := releases.Releases(t.Context(), releases.ListOptions{Env: e, Channel: "stable-4.20", ReleaseQuery: tc.ask})
		accepted := risk
		if tc.refused == "" {
			accepted.Accepted = true
			if err != nil {
				t.Errorf("%+v: %v", tc.ask, err)
			}
		} else {
			mirrortest.Refused(t, err, advice.Input, tc.refused)
		}
		want := &plan.UpdatePath{Product: "ocp", Arch: "amd64", Channel: "stable-4.20", From: "4.19.1", To: "4.20.1", Hops: []plan.Hop{{From: "4.19.1", To: "4.20.1", Risks: []plan.Risk{accepted}}}}
		if diff := cmp.Diff(want, got.Channels[0].Path); diff != "" {
			t.Errorf("%+v: the path (-want +got):\n%s", tc.ask, diff)
		}
	}

	// A version that is refused does not hide the paths of others.
	small, _ := mirrortest.UpdateService(t, releasetest.Small())
	got, err := releases.Releases(t.Context(), releases.ListOptions{Env: small, Channel: "fast-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.20.1", "4.18.2"}, To: "4.19.2"}})
	mirrortest.Refused(t, err, advice.Input, "4.20.1 is newer than 4.19.2")
	fail.Diff(t, []string{"fast-4.20 amd64 4.20.2 6 4.20.1", "fast-4.20 amd64 4.20.2 6 4.18.2", "  4.18.2 -> 4.19.2"}, listed(got))
}

func TestReleasesRefused(t *testing.T) {
	t.Parallel()
	e, service := mirrortest.UpdateService(t, releasetest.Small())
	stable := releases.ListOptions{Channel: "stable-4.20"}
	with := func(change func(*releases.ListOptions)) releases.ListOptions {
		o := stable
		change(&o)
		return o
	}
	asked := func(q releases.ReleaseQuery) releases.ListOptions {
		return with(func(o *releases.ListOptions) { o.ReleaseQuery = q })
	}
	for want, o := range map[string]releases.ListOptions{
		"Channel or Options.Version":                                {Channels: true},
		"give the minor version as 4.20":                            {Version: "4.20.1"},
		"has no releases for amd64 at " + service.URL():             {Channel: "stable-4.2"},
		"no stable channel from 4.0 to 4.40 has releases for s390x": {Arch: []string{"s390x"}},
		"Options.Channel or":                                        {Sizes: true},
		"invalid channel name":                                      {Channel: "stable_4"},
		`did you mean "stable-4.20"?`:                               {Channel: "stabel-4.20"},
		"4.21":                                                      {Channel: "eus-4.21"},
		"no channel has releases for amd64":                         {Version: "4.66", Channels: true},
		"leave out one of them":                                     with(func(o *releases.ListOptions) { o.Version = "4.20" }),
		"the version that the cluster runs":                         asked(releases.ReleaseQuery{To: "4.20.1"}),
		`From "4.20"`:                                               asked(releases.ReleaseQuery{From: []string{"4.20"}}),
		"4.18.9 is not in channel stable-4.20 for amd64; it has 4.18.2 and 4.19.1": asked(releases.ReleaseQuery{From: []string{"4.18.9"}}),
		"4.20.2 is not in channel stable-4.20 for amd64; channel eus-4.20 has it":  asked(releases.ReleaseQuery{From: []string{"4.18.1"}, To: "4.20.2"}),
		"4.20.1 is newer than 4.18.1":       asked(releases.ReleaseQuery{From: []string{"4.20.1"}, To: "4.18.1"}),
		"did you mean":                      with(func(o *releases.ListOptions) { o.Arch = []string{"amd46"} }),
		"give ocp or okd":                   asked(releases.ReleaseQuery{Product: "rhel"}),
		"name a channel":                    {Version: "4.20", ReleaseQuery: releases.ReleaseQuery{Product: "okd"}},
		"are for the releases of a channel": {Version: "4.20", Channels: true, ReleaseQuery: releases.ReleaseQuery{From: []string{"4.18.1"}}},
		"both accepted and forbidden":       asked(releases.ReleaseQuery{From: []string{"4.0.1"}, AcceptRisk: []string{"A"}, ForbidRisk: []string{"A"}}),
		"Options.IgnoreRisks accepts every risk, Options.AcceptRisk some": asked(releases.ReleaseQuery{From: []string{"4.0.1"}, AcceptRisk: []string{"A"}, IgnoreRisks: true}),
		"Options.From":              asked(releases.ReleaseQuery{ForbidRisk: []string{"A"}}),
		"reading the configuration": asked(releases.ReleaseQuery{Config: "there-is-none.yaml"}),
	} {
		o.Env = e
		got, err := releases.Releases(t.Context(), o)
		if mirrortest.Refused(t, err, advice.Input, want); got != nil {
			t.Errorf("%s: it lists %v", want, listed(got))
		}
	}
}

// TestConfiguredUpdateService checks that the update service of a configuration is used.
func TestConfiguredUpdateService(t *testing.T) {
	t.Parallel()
	_, service := mirrortest.UpdateService(t, releasetest.Small())
	e := mirrortest.UpdateEnv(t, "")
	config := filepath.Join(t.TempDir(), "imageset.yaml")
	text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  platform:\n    updateService: " +
		service.URL() + releasetest.GraphPath + "\n    channels:\n    - name: stable-4.20\n"
	fail.On(t, os.WriteFile(config, []byte(text), 0o600))
	o := releases.ListOptions{Env: e, Channel: "stable-4.18", ReleaseQuery: releases.ReleaseQuery{Config: config}}
	got, err := releases.Releases(t.Context(), o)
	if diff := cmp.Diff([]string{"stable-4.18 amd64 4.18.2 2", "  4.18.2 head", "  4.18.1"}, listed(got)); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	o.Channel = "stable-4.21"
	_, err = releases.Releases(t.Context(), o)
	mirrortest.Refused(t, err, advice.Input, "gantry list releases --version 4.21 --channels lists those that exist")
	if hints := advice.Hints(err); !slices.Contains(hints, `did you mean "stable-4.20"?`) {
		t.Errorf("the hints do not name the channel of the configuration: %q", hints)
	}
}
