package mirroring

import (
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// A MirroredChart is a Helm chart at a destination.
type MirroredChart struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Address is what helm install is given, with Version: oci://HOST/PATH; "" if the destination is no
	// registry.
	Address string `json:"address,omitempty"`
	// PlainHTTP means that the registry of Address was reached by plain HTTP, for which Helm has an option.
	PlainHTTP bool          `json:"plainHTTP,omitempty"`
	Digest    digest.Digest `json:"digest"`
}

// mirroredCharts returns the charts of a plan that are at the destination after a run.
func mirroredCharts(t site.Destination, p *plan.Plan, report *mirror.Report) []MirroredChart {
	type copied struct{ source, repository string }
	failed := map[copied]bool{}
	for _, f := range report.Failed {
		failed[copied{f.Source, f.Repository}] = true
	}
	var all []MirroredChart
	for _, c := range p.Charts {
		if failed[copied{c.Source, c.Repository}] || report.Unfinished {
			continue
		}
		out := MirroredChart{Name: c.Name, Version: c.Version, Digest: c.Digest}
		if r := t.Registry(); r != nil {
			out.Address = "oci://" + r.Names[c.Repository].Name()
			out.PlainHTTP = r.Client.UsesHTTP(r.Host)
		}
		all = append(all, out)
	}
	return all
}
