package path

import (
	"errors"
	"slices"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
)

const derived = "../../../../shared/graphs/derived/amd64-"

// EUS to EUS and other paths on graphs built from public graph data.
func TestFindReal(t *testing.T) {
	for _, tc := range []struct {
		channel, from, to string
		policy            Policy
		want              string
		risks             [][]string
		cost              Cost
	}{
		{"stable-4.16", "4.14.20", "4.16.20", Policy{}, "4.14.20 -> 4.15.37 -> 4.16.20", [][]string{{"OVNIPsecConnectivity", "OVNIPsecPausedMCPConnectivity"}, nil}, Cost{PromQL: 2, Hops: 2}},
		{"fast-4.18", "4.16.20", "4.18.30", Policy{}, "4.16.20 -> 4.17.45 -> 4.18.30", [][]string{nil, nil}, Cost{Hops: 2}},
		{"stable-4.20", "4.19.15", "4.20.10", Policy{}, "4.19.15 -> 4.20.10", [][]string{{"ARO420UDRWorkerNodesFail", "HyperShiftRedundantRouter"}}, Cost{PromQL: 2, Hops: 1}},
		{"eus-4.20", "4.18.20", "4.20.5", Policy{AllowAlways: true}, "4.18.20 -> 4.19.17 -> 4.20.5", [][]string{
			{"IPsecLargeClusterConnectivity", "NetworkManagerOVNBridgeMapping"}, {"ARO420UDRWorkerNodesFail", "HyperShiftRedundantRouter", "RuncShareProcessNamespace!"},
		}, Cost{Always: 1, PromQL: 4, Hops: 2}},
		// Accepting a risk opens a path that has it twice, and one risk fewer.
		{"eus-4.20", "4.18.20", "4.20.5", Policy{Accept: []string{"RuncShareProcessNamespace"}}, "4.18.20 -> 4.19.19 -> 4.20.5", [][]string{
			{"HyperShiftRedundantRouter", "IPsecLargeClusterConnectivity", "RuncShareProcessNamespace!+"}, {"ARO420UDRWorkerNodesFail", "RuncShareProcessNamespace!+"},
		}, Cost{PromQL: 3, Hops: 2}},
		{"fast-4.18", "4.16.10", "4.18.10", Policy{AllowAlways: true}, "4.16.10 -> 4.17.26 -> 4.18.10", [][]string{
			{"NonZonalAzureMachineSetScaling", "RHELFailedRebootMissingService"},
			{"KubeletStartFailingFromRestoreconTimeout!", "MetallbBgpBfdFrrRpm", "OVNEgressIPFailure", "WhereaboutsControllerCreateContainerError!"},
		}, Cost{Always: 2, PromQL: 4, Hops: 2}},
	} {
		t.Run(tc.want, func(t *testing.T) {
			paths, err := Find(read(t, derived+tc.channel+".json"), versions(tc.from), semver.MustParse(tc.to), tc.policy)
			if err != nil {
				t.Fatal(err)
			}
			if got := paths[0].String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if diff := cmp.Diff(tc.risks, names(paths[0])); diff != "" {
				t.Error(diff)
			}
			if paths[0].Cost != tc.cost {
				t.Errorf("cost %+v, want %+v", paths[0].Cost, tc.cost)
			}
		})
	}
}

// Risks that apply to every cluster block a path, and the error names releases that can be reached
// without risks.
func TestBlockedReal(t *testing.T) {
	for _, tc := range []struct {
		channel, from, to string
		risks             []string
		instead           string
	}{
		{"eus-4.20", "4.18.20", "4.20.5", []string{"RuncShareProcessNamespace"},
			"it can update to 4.20.3 and 4.20.8 with risks for some clusters, and to 4.19.41 and 4.20.20, and at most to 4.20.33, without risks to accept"},
		{"fast-4.18", "4.16.10", "4.18.10", []string{"KubeletStartFailingFromRestoreconTimeout", "WhereaboutsControllerCreateContainerError"},
			"it can update to 4.18.22 with risks for some clusters, and to 4.17.56 and 4.18.27, and at most to 4.18.53, without risks to accept"},
	} {
		t.Run(tc.from+" to "+tc.to, func(t *testing.T) {
			g := read(t, derived+tc.channel+".json")
			_, err := Find(g, versions(tc.from), semver.MustParse(tc.to), Policy{})
			var blocked *BlockedError
			if !errors.As(err, &blocked) || !slices.Equal(blocked.Always, tc.risks) || len(blocked.Forbidden)+len(blocked.Skips) > 0 {
				t.Fatalf("got %v, want a BlockedError about %v", err, tc.risks)
			}
			if got := blocked.Alternatives.String(); got != tc.instead {
				t.Errorf("instead: %s\nwant:    %s", got, tc.instead)
			}
			above := blocked.Alternatives.Free.Above
			if above == nil || !above.Cost.Free() {
				t.Fatalf("no later target free of risks: %v", err)
			}
			paths, err := Find(g, versions(tc.from), above.Version, Policy{})
			if err != nil || !paths[0].Cost.Free() {
				t.Errorf("to %s: %v, %v", above.Version, paths, err)
			}
		})
	}
}

// From every release except pre-releases, recommended updates lead to the head, so a risk-free
// target can always be named.
func TestHeadReal(t *testing.T) {
	for _, channel := range []string{"stable-4.16", "stable-4.20", "eus-4.14", "eus-4.20"} {
		t.Run(channel, func(t *testing.T) {
			g := read(t, derived+channel+".json")
			var from []semver.Version
			for _, n := range g.Nodes {
				if len(n.Version.Pre) == 0 {
					from = append(from, n.Version)
				}
			}
			paths, err := Find(g, from, g.Nodes[g.Head()].Version, Policy{})
			if err != nil || len(paths) != len(from) {
				t.Fatalf("%d paths of %d: %v", len(paths), len(from), err)
			}
			for _, p := range paths {
				if !p.Cost.Free() || slices.ContainsFunc(p.Hops, func(h Hop) bool { return len(h.Risks) > 0 }) {
					t.Errorf("%s has risks: %v", p, names(p))
				}
			}
		})
	}
}
