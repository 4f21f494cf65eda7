package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/plan/signing"
)

// clusterVersion returns a ClusterVersion as oc prints it.
func clusterVersion(id, channel, architecture, history string) string {
	return `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","metadata":{"name":"version"},` +
		`"spec":{"clusterID":"` + id + `","channel":"` + channel + `"},"status":{"desired":{"architecture":"` + architecture + `"},"history":[` + history + `]}}` + "\n"
}

// TestInstalledReleases checks that updates are planned from the releases that clusters run.
func TestInstalledReleases(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	const platform = `  platform:
    architectures: [amd64, multi]
    channels:
    - name: fast-4.20
`
	cfg := w.config("imageset.yaml", platform)
	const subscription = `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"s","namespace":"n"},"spec":{"name":"p"},"status":{"installedCSV":"p.v1"}}`
	completed := func(version string) string { return `{"state":"Completed","version":"` + version + `"}` }
	for name, tc := range map[string]struct {
		file string
		want []string
	}{
		"one minor behind": {
			clusterVersion("a", "fast-4.19", "", completed("4.19.2")),
			[]string{"fast-4.20 amd64: 4.19.2 4.20.2"},
		},
		"of all architectures": {
			clusterVersion("a", "fast-4.20", "Multi", completed("4.20.1")),
			[]string{"fast-4.20 multi: 4.20.1 4.20.2"},
		},
		"of unknown architecture": {
			clusterVersion("a", "fast-4.20", "", completed("4.20.1")),
			[]string{"fast-4.20 amd64: 4.20.1 4.20.2", "fast-4.20 multi: 4.20.1 4.20.2"},
		},
		"update in progress, with operators": {
			`{"apiVersion":"v1","kind":"List","items":[` + subscription + "," + clusterVersion("a", "fast-4.20", "", `{"state":"Partial","version":"4.19.2"},`+completed("4.18.2")) + `]}`,
			[]string{"fast-4.20 amd64: 4.18.2 4.19.2 4.20.2", "fast-4.20 amd64: 4.19.2 4.20.2"},
		},
		"already updated": {
			clusterVersion("a", "fast-4.20", "Multi", completed("4.20.2")),
			[]string{"fast-4.20 multi: 4.20.2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			file := w.write("clusters.json", tc.file)
			if diff := cmp.Diff(tc.want, w.paths(cfg, file)); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A cluster in a stable channel gets no update from a fast channel, even if that one has higher
	// versions. The other updates are between the heads of the channels.
	careful := w.write("careful.json", clusterVersion("a", "stable-4.18", "Multi", completed("4.20.1")))
	want := []string{"fast-4.20 amd64: 4.20.1 4.20.2", "fast-4.20 multi: 4.20.1 4.20.2", "stable-4.20 multi: 4.20.1"}
	if diff := cmp.Diff(want, w.paths(w.config("two.yaml", platform+"    - name: stable-4.20\n"), careful)); diff != "" {
		t.Error(diff)
	}

	elsewhere := w.write("elsewhere.json", clusterVersion("deadbeef", "fast-4.17", "", completed("4.17.9")))
	w.refuse(exitUsage, []string{elsewhere + ": ClusterVersion deadbeef: no channel of the configuration has 4.17.9", "(fast-4.20)"}, "plan", "-c", cfg, "--installed", elsewhere)
	alone := w.config("graph.yaml", "  platform:\n    graph: true\n")
	w.refuse(exitUsage, []string{"--installed has only the releases of clusters", "mirror.platform"}, "plan", "-c", alone, "--installed", elsewhere)
	w.refuse(exitUsage, []string{"--installed has the releases that clusters run, but no operators"}, "catalog", "filter", "-c", alone, "--installed", elsewhere, "--output-dir", w.path("out"))
}

// paths returns the updates in a plan for clusters: "fast-4.20 amd64: 4.19.2 4.20.2".
func (w *platformFixture) paths(cfg, installed string) []string {
	w.t.Helper()
	w.must("plan", "-c", cfg, "--installed", installed, "-o", w.path("plan.json"))
	p, err := signing.ReadPlan(w.path("plan.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, u := range p.Updates {
		text := u.Channel + " " + string(u.Arch) + ": " + u.From
		for _, h := range u.Hops {
			text += " " + h.To
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}
