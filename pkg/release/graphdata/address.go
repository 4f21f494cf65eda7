package graphdata

import "strings"

// DefaultAddress is where OpenShift's graph data is. OKD has none of its own: its
// service answers without, and its releases are in no channel of this.
const DefaultAddress = "https://api.openshift.com/api/upgrades_info/graph-data"

// Address is where the graph data of an update service is, by the URL of its
// graph: ".../v1/graph" has it at ".../graph-data" (openshift/cincinnati, the
// endpoint of its graph builder). It is "" where the URL is not one of these.
func Address(graphURL string) string {
	place, _, _ := strings.Cut(graphURL, "#")
	place, _, _ = strings.Cut(place, "?")
	base, ok := strings.CutSuffix(strings.TrimSuffix(place, "/"), "/v1/graph")
	if !ok || !strings.Contains(base, "://") {
		return ""
	}
	return base + "/graph-data"
}
