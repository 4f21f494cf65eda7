package build

import (
	"strings"
	"testing"
)

// laggingServices returns channels whose heads are not in the next channel yet.
func laggingServices(t testing.TB) services {
	return services{
		"ocp eus-4.16 amd64": updateGraph(t, "4.14.1 4.15.1 4.16.1 4.16.2 4.16.9", "4.14.1 4.15.1", "4.15.1 4.16.1", "4.15.1 4.16.2", "4.16.1 4.16.2", "4.16.1 4.16.9", "4.16.2 4.16.9"),
		"ocp eus-4.18 amd64": updateGraph(t, "4.16.1 4.16.2 4.17.1 4.18.1 4.18.2 4.18.9",
			"4.16.1 4.17.1", "4.16.2 4.17.1", "4.17.1 4.18.1", "4.17.1 4.18.2", "4.18.1 4.18.9", "4.18.2 4.18.9"),
		"ocp eus-4.20 amd64":    updateGraph(t, "4.18.1 4.18.2 4.19.1 4.20.1", "4.18.1 4.19.1", "4.18.2 4.19.1", "4.19.1 4.20.1"),
		"ocp fast-4.20 amd64":   updateGraph(t, "4.18.1 4.18.2 4.19.1 4.20.1 4.20.2", "4.18.1 4.19.1", "4.18.2 4.19.1 !Ever", "4.19.1 4.20.1", "4.20.1 4.20.2"),
		"ocp stable-4.20 amd64": updateGraph(t, "4.18.2 4.19.1 4.20.1", "4.18.2 4.19.1 !Ever", "4.19.1 4.20.1"),
		"ocp eus-4.22 amd64":    updateGraph(t, "4.22.1"),
		"okd stable amd64":      updateGraph(t, "4.19.0-okd-scos.1 4.19.0-okd-scos.2", "4.19.0-okd-scos.1 4.19.0-okd-scos.2"),
		"okd next amd64":        updateGraph(t, "4.20.0-okd-scos.1"),
	}
}

// TestPathsLeaveChannelsBeforeTheirHeads checks paths through channels whose heads are not in the
// next channel yet.
func TestPathsLeaveChannelsBeforeTheirHeads(t *testing.T) {
	t.Parallel()
	const remedy = "; add a channel between them, wait until a later release is in both, or use a configuration for each channel"
	for _, tc := range []struct {
		name, channels  string
		cluster         string
		want            string
		paths           []string
		warning, failed string
	}{
		{
			name: "from", channels: "{name: eus-4.18, from: [4.16.1]}, {name: eus-4.20}",
			want: "4.16.1 4.17.1 4.18.2 4.18.9 4.19.1 4.20.1", paths: []string{"4.16.1 4.17.1 4.18.2", "4.18.2 4.18.9", "4.18.2 4.19.1 4.20.1"},
		},
		{
			name: "a reported cluster", channels: "{name: eus-4.18}, {name: eus-4.20}", cluster: "4.16.1",
			want: "4.16.1 4.17.1 4.18.2 4.18.9 4.19.1 4.20.1", paths: []string{"4.16.1 4.17.1 4.18.2", "4.18.2 4.18.9", "4.18.2 4.19.1 4.20.1"},
		},
		{
			name: "three channels, in any order", channels: "{name: eus-4.20}, {name: eus-4.16, from: [4.14.1]}, {name: eus-4.18}",
			want:  "4.14.1 4.15.1 4.16.2 4.16.9 4.17.1 4.18.2 4.18.9 4.19.1 4.20.1",
			paths: []string{"4.14.1 4.15.1 4.16.2", "4.16.2 4.16.9", "4.16.2 4.17.1 4.18.2", "4.18.2 4.19.1 4.20.1"},
		},
		{
			name: "heads", channels: "{name: eus-4.18}, {name: eus-4.20}",
			want: "4.18.2 4.18.9 4.19.1 4.20.1", paths: []string{"4.18.2 4.19.1 4.20.1"},
		},
		{
			name: "a range", channels: "{name: eus-4.16, minVersion: 4.15.1, shortestPath: true}, {name: eus-4.18}",
			want: "4.15.1 4.16.2 4.16.9 4.17.1 4.18.2 4.18.9", paths: []string{"4.15.1 4.16.2 4.16.9", "4.15.1 4.16.2", "4.16.2 4.17.1 4.18.2 4.18.9"},
		},
		{
			name: "the end of a range", channels: "{name: eus-4.18, from: [4.16.1], maxVersion: 4.18.1}, {name: eus-4.20}",
			want: "4.16.1 4.17.1 4.18.1 4.19.1 4.20.1", paths: []string{"4.16.1 4.17.1 4.18.1", "4.18.1 4.19.1 4.20.1"},
		},
		{
			name: "a lower release if the highest has only an update that is not recommended", channels: "{name: eus-4.18, from: [4.17.1]}, {name: fast-4.20}",
			want: "4.17.1 4.18.1 4.18.9 4.19.1 4.20.1 4.20.2", paths: []string{"4.17.1 4.18.1", "4.18.1 4.18.9", "4.18.1 4.19.1 4.20.1 4.20.2"},
		},
		{
			name: "a channel of the same kind", channels: "{name: eus-4.18, from: [4.17.1]}, {name: fast-4.20}, {name: eus-4.20}",
			want: "4.17.1 4.18.2 4.18.9 4.19.1 4.20.1 4.20.2", paths: []string{"4.17.1 4.18.2", "4.18.2 4.18.9", "4.18.2 4.19.1 4.20.1", "4.20.1 4.20.2"},
		},
		{
			name: "an update that is not recommended", channels: "{name: eus-4.18, from: [4.17.1]}, {name: stable-4.20}",
			failed: "imageset.yaml:5: channel eus-4.18 for amd64: no update from 4.17.1 to channel stable-4.20 is possible: channel stable-4.20 for amd64: " +
				"4.18.2 cannot be updated to 4.20.1: on its best path 4.18.2 -> 4.19.1 -> 4.20.1, these risks apply to every cluster: Ever",
		},
		{
			name: "no release in common", channels: "{name: eus-4.16, from: [4.14.1]}, {name: eus-4.20}",
			failed: "imageset.yaml:5: channel eus-4.16 for amd64: no update from 4.14.1 to channel eus-4.20 is possible: " +
				"channel eus-4.20 contains none of the releases that 4.14.1 can be updated to in channel eus-4.16, up to 4.16.9" + remedy,
		},
		{
			name: "after the last release in common", channels: "{name: eus-4.18, from: [4.18.9]}, {name: eus-4.20}",
			failed: "channel eus-4.18 for amd64: no update from 4.18.9 to channel eus-4.20 is possible: channel eus-4.20 does not contain 4.18.9; " +
				"the highest release of channel eus-4.18 that it contains is 4.18.2" + remedy,
		},
		{
			name: "clusters apart", channels: "{name: eus-4.16, from: [4.14.1]}, {name: eus-4.20, from: [4.19.1]}",
			want: "4.14.1 4.15.1 4.16.2 4.16.9 4.19.1 4.20.1", paths: []string{"4.14.1 4.15.1 4.16.2 4.16.9", "4.19.1 4.20.1"},
			warning: "imageset.yaml:5: channel eus-4.16 for amd64: no update from 4.14.1 to channel eus-4.20 is possible: ",
		},
		{
			name: "a reported cluster apart", channels: "{name: eus-4.16}, {name: eus-4.20}", cluster: "4.14.1",
			want: "4.14.1 4.15.1 4.16.2 4.16.9 4.20.1", paths: []string{"4.14.1 4.15.1 4.16.2 4.16.9"},
			warning: "imageset.yaml:5: channel eus-4.16 for amd64: no update from 4.14.1 to channel eus-4.20 is possible: ",
		},
		{
			name: "heads apart", channels: "{name: eus-4.16}, {name: eus-4.20}",
			want: "4.16.9 4.20.1", warning: "no update from 4.16.9 of eus-4.16 to 4.20.1 is planned for amd64: channel eus-4.20 does not contain 4.16.9" + remedy,
		},
		{
			name: "part of the way", channels: "{name: eus-4.16}, {name: eus-4.18}, {name: eus-4.22}",
			want: "4.16.2 4.16.9 4.17.1 4.18.2 4.18.9 4.22.1", paths: []string{"4.16.2 4.17.1 4.18.2 4.18.9"},
			warning: "no update from 4.16.9 of eus-4.16 to 4.22.1 is planned for amd64: " +
				"channel eus-4.22 contains none of the releases that 4.16.2 can be updated to in channel eus-4.18, up to 4.18.9" + remedy,
		},
		{
			name: "products that name no minor version", channels: "{name: stable, type: okd, from: [4.19.0-okd-scos.1]}, {name: next, type: okd}",
			want: "4.19.0-okd-scos.1 4.19.0-okd-scos.2 4.20.0-okd-scos.1", paths: []string{"4.19.0-okd-scos.1 4.19.0-okd-scos.2"},
			warning: "imageset.yaml:5: channel stable for amd64: no update from 4.19.0-okd-scos.1 to channel next is possible: ",
		},
	} {
		var clusters []Cluster
		if tc.cluster != "" {
			clusters = append(clusters, Cluster{Version: tc.cluster, Arch: "amd64", Where: "clusters.json"})
		}
		c := selects(t, tc.name, laggingServices(t), "    channels: ["+tc.channels+"]\n", tc.failed, tc.want, tc.paths, clusters...)
		if c == nil {
			continue
		}
		for _, texts := range [][]string{c.warnings, c.notes} {
			if all := strings.Join(texts, "\n"); !strings.HasPrefix(all, tc.warning) || tc.warning == "" && all != "" {
				t.Errorf("%s: printed %q, want %q", tc.name, all, tc.warning)
			}
		}
	}
}
