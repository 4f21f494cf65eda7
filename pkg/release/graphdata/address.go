package graphdata

import (
	"net/url"
	"strings"
)

// DefaultAddress is where OpenShift's graph data is.
const DefaultAddress = "https://api.openshift.com/api/upgrades_info/graph-data"

// Address is where the graph data of an update service is, by the URL of its
// graph: ".../v1/graph" has it at ".../graph-data" (openshift/cincinnati, the
// endpoint of its graph builder). It is "" where the URL is not one of these.
func Address(graphURL string) string {
	u, err := url.Parse(graphURL)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return ""
	}
	base, ok := strings.CutSuffix(strings.TrimSuffix(u.Path, "/"), "/v1/graph")
	if !ok {
		return ""
	}
	u.Path, u.RawPath, u.RawQuery, u.Fragment = base+"/graph-data", "", "", ""
	return u.String()
}
