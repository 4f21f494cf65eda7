package main

import "testing"

// clusterVersion returns a ClusterVersion as oc prints it.
func clusterVersion(id, channel, architecture, history string) string {
	return `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","metadata":{"name":"version"},` +
		`"spec":{"clusterID":"` + id + `","channel":"` + channel + `"},"status":{"desired":{"architecture":"` + architecture + `"},"history":[` + history + `]}}` + "\n"
}

// TestInstalledReleases checks what is printed about the releases of clusters. Package build tests which updates are planned.
func TestInstalledReleases(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", "  platform:\n    channels: [{name: fast-4.20}]\n")
	w.says(w.must("plan", "-c", cfg, "--installed", w.write("clusters.json", clusterVersion("a", "fast-4.19", "", `{"state":"Completed","version":"4.19.2"}`))).stdout,
		"4.19.2 to 4.20.2 for amd64, in channel fast-4.20: 1 update")
	elsewhere := w.write("elsewhere.json", clusterVersion("deadbeef", "fast-4.17", "", `{"state":"Completed","version":"4.17.9"}`))
	w.refuse(exitUsage, []string{elsewhere + ": ClusterVersion deadbeef: no channel of the configuration has 4.17.9", "(fast-4.20)"}, "plan", "-c", cfg, "--installed", elsewhere)
	alone := w.config("graph.yaml", "  platform:\n    graph: true\n")
	w.refuse(exitUsage, []string{"--installed has only the releases of clusters", "mirror.platform"}, "plan", "-c", alone, "--installed", elsewhere)
	w.refuse(exitUsage, []string{"--installed has the releases that clusters run, but no operators"}, "catalog", "filter", "-c", alone, "--installed", elsewhere, "--output-dir", w.path("out"))
}
