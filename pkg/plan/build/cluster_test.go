package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClusterUpdatePaths checks which channel provides the update path of an existing cluster.
func TestClusterUpdatePaths(t *testing.T) {
	t.Parallel()
	s := testServices(t)
	s["ocp fast-4.20 amd64"] = updateGraph(t, "4.19.1 4.20.0 4.20.1 4.20.2 4.20.3", "4.19.1 4.20.3")
	const both = "    channels: [{name: stable-4.19}, {name: stable-4.20}, {name: fast-4.20}]\n"
	for _, tc := range []struct {
		name, stanza string
		cluster      Cluster
		want         []string
		note, fails  string
	}{
		{"its own channel", both, Cluster{Version: "4.19.1", Channel: "fast-4.20", Arch: "amd64"}, []string{"fast-4.20: 4.19.1 4.20.3"}, "", ""},
		{"one equally stable, and higher", both, Cluster{Version: "4.19.1", Channel: "stable-4.19", Arch: "amd64"}, []string{"fast-4.20: 4.19.1 4.20.3", "stable-4.20: 4.19.1 4.19.3 4.20.2"}, "", ""},
		{"without a channel", both, Cluster{Version: "4.19.1", Arch: "amd64"}, []string{"fast-4.20: 4.19.1 4.20.3"}, "", ""},
		{
			"beside a range", "    channels: [{name: stable-4.20, minVersion: 4.20.2}]\n", Cluster{Version: "4.18.1", Channel: "stable-4.18", Arch: "amd64"},
			[]string{"stable-4.20: 4.18.1 4.19.1 4.19.3 4.20.2"}, "", "",
		},
		{
			"up to date", "    channels: [{name: stable-4.20, maxVersion: 4.19.2}]\n", Cluster{Version: "4.20.0", Arch: "amd64", Where: "clusters.json"}, nil,
			"clusters.json: the cluster runs 4.20.0, which is newer than all mirrored releases of stable-4.20", "",
		},
		{
			"another architecture", "    channels: [{name: stable-4.20}]\n", Cluster{Version: "4.20.0", Arch: "s390x", Where: "clusters.json"}, nil,
			"clusters.json: the architecture of a cluster with 4.20.0, s390x, is not mirrored, so it gets no updates; add it to architectures", "",
		},
		{
			"nowhere", both, Cluster{Version: "4.17.1", Arch: "amd64", Where: "clusters.json"}, nil, "",
			"clusters.json: no channel of the configuration has 4.17.1 for amd64, which the cluster runs (stable-4.19, stable-4.20, fast-4.20): add a channel that has it and the version to update to",
		},
		{"no version", both, Cluster{Version: "4.17", Arch: "amd64", Where: "clusters.json"}, nil, "", `clusters.json: version "4.17": `},
		{
			"over an update that is not recommended", "    channels: [{name: stable-4.20}]\n", Cluster{Version: "4.20.1", Arch: "amd64"}, nil, "",
			"these risks apply to every cluster: Ever",
		},
		{"OKD", "    channels: [{name: stable, type: okd}]\n", Cluster{Version: "4.20.0-okd-scos.1", Arch: "amd64"}, []string{"stable: 4.20.0-okd-scos.1 4.20.0-okd-scos.9 4.20.0-okd-scos.10"}, "", ""},
		{"no channels", "    graph: true\n", Cluster{Version: "4.20.1", Arch: "amd64"}, nil, "", ""},
	} {
		c, err := chooseFrom(t, s, tc.stanza, tc.cluster)
		if tc.fails != "" || err != nil {
			if err == nil || tc.fails == "" || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		var got []string
		for i, text := range pathsOf(c) {
			if c.updates[i].From == tc.cluster.Version {
				got = append(got, c.updates[i].Channel+": "+text)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if tc.note != "" && strings.Join(c.notes, "\n") != tc.note {
			t.Errorf("%s: notes %q", tc.name, c.notes)
		}
	}
}
