package releases_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

// TestReleaseGraph checks which part of an update graph is drawn. Package release/picture tests the drawing.
func TestReleaseGraph(t *testing.T) {
	t.Parallel()
	e, _ := mirrortest.UpdateService(t, releasetest.Small())
	for _, tc := range []struct {
		from, to, arch string
		versions       string
		updates        int
	}{
		{versions: "4.18.1 4.18.2 4.19.1 4.19.2 4.20.1 4.20.2", updates: 10},
		{from: "4.18.2", to: "4.20.1", versions: "4.18.2 4.19.1 4.19.2 4.20.1", updates: 5},
		{to: "4.19.2", versions: "4.18.1 4.18.2 4.19.1 4.19.2", updates: 6},
		{arch: "multi", versions: "4.20.1 4.20.2", updates: 1},
	} {
		o := releases.ReleaseGraphOptions{Env: e, Channel: "fast-4.20", Arch: tc.arch, ReleaseQuery: releases.ReleaseQuery{To: tc.to}}
		if tc.from != "" {
			o.From = []string{tc.from}
		}
		_, g, err := releases.ReleaseGraph(t.Context(), o)
		fail.On(t, err)
		var versions []string
		updates := 0
		for i, n := range g.Nodes {
			versions = append(versions, n.Version.String())
			updates += len(g.From(i))
		}
		if diff := cmp.Diff(tc.versions, strings.Join(versions, " ")); diff != "" || updates != tc.updates {
			t.Errorf("%+v: %d updates, %s", tc, updates, diff)
		}
	}
}

// TestReleaseGraphPaths checks that the paths of a plan are marked, and that one that it would refuse is drawn, too.
func TestReleaseGraphPaths(t *testing.T) {
	t.Parallel()
	small, _ := mirrortest.UpdateService(t, releasetest.Small())
	risky, _ := mirrortest.UpdateService(t, blocked())
	text := func(o releases.ReleaseGraphOptions) (string, error) {
		d, g, err := releases.ReleaseGraph(t.Context(), o)
		if g == nil {
			return "", err
		}
		var b bytes.Buffer
		fail.On(t, diagram.Write(&b, d, diagram.Text))
		return b.String(), err
	}
	got, err := text(releases.ReleaseGraphOptions{Env: small, Channel: "fast-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.18.1", "4.20.1"}}})
	if err != nil || strings.Count(got, "Path: ") != 2 || !strings.Contains(got, "Path: 4.18.1 -> 4.19.2 -> 4.20.2. 2 hops, no risks.") {
		t.Errorf("%v\n%s", err, got)
	}
	for _, forbidden := range [][]string{{"SlowPulls"}, nil} {
		got, err = text(releases.ReleaseGraphOptions{Env: risky, Channel: "stable-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.19.2"}, ForbidRisk: forbidden}})
		if mirrortest.Refused(t, err, advice.Input, "4.19.2 cannot be updated to 4.20.1"); !strings.Contains(got, "Path: 4.19.2 -> 4.20.1. 1 hop, 1 risk: SlowPulls") {
			t.Errorf("the path is not drawn:\n%s", got)
		}
	}
	if _, err = text(releases.ReleaseGraphOptions{Env: risky, Channel: "stable-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.19.2"}, AcceptRisk: []string{"SlowPulls"}}}); err != nil {
		t.Error(err)
	}
	for words, o := range map[string]releases.ReleaseGraphOptions{
		"channel stable-4.21 has no releases for amd64":                  {Channel: "stable-4.21"},
		"unknown architecture":                                           {Channel: "stable-4.20", Arch: "vax"},
		"4.18.7 is not in channel stable-4.20":                           {Channel: "stable-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.18.7"}}},
		"4.18.1 is not in channel stable-4.20 for multi; it has 4.20.1;": {Channel: "stable-4.20", Arch: "multi", ReleaseQuery: releases.ReleaseQuery{To: "4.18.1"}},
		"4.20.1 is newer than 4.19.1":                                    {Channel: "stable-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.20.1"}, To: "4.19.1"}},
	} {
		o.Env = small
		got, err := text(o)
		if mirrortest.Refused(t, err, advice.Input, words); got != "" {
			t.Errorf("%s: it draws\n%s", words, got)
		}
	}
}
