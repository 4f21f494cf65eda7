package graphdata

import "strings"

// DefaultAddress is the URL of OpenShift's graph data. OKD has none: its update service works
// without graph data, and its releases are in no channel of this data.
const DefaultAddress = "https://api.openshift.com/api/upgrades_info/graph-data"

// Address returns the URL of the graph data of an update service, given the URL of its graph:
// ".../v1/graph" has it at ".../graph-data" (openshift/cincinnati, the endpoint of its graph
// builder). It returns "" for other URLs.
func Address(graphURL string) string {
	base, _, _ := strings.Cut(graphURL, "#")
	base, _, _ = strings.Cut(base, "?")
	prefix, ok := strings.CutSuffix(strings.TrimSuffix(base, "/"), "/v1/graph")
	if !ok || !strings.Contains(prefix, "://") {
		return ""
	}
	return prefix + "/graph-data"
}
