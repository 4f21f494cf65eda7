package installed

import (
	"cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// subscription reads a Subscription. It returns false if nothing is installed for it yet.
func subscription(o object) (record, bool, error) {
	var spec struct {
		Name            string `json:"name"` // of the package
		Channel         string `json:"channel"`
		Source          string `json:"source"`
		SourceNamespace string `json:"sourceNamespace"`
	}
	var status struct {
		InstalledCSV string `json:"installedCSV"`
		CurrentCSV   string `json:"currentCSV"`
	}
	if err := cmp.Or(unmarshal(o, "spec", o.Spec, &spec), unmarshal(o, "status", o.Status, &status)); err != nil {
		return record{}, false, err
	}
	if status.InstalledCSV == "" {
		return record{}, false, nil
	}
	r := record{Operator: Operator{
		Generation: graph.Classic,
		Name:       o.Metadata.Name,
		Namespace:  o.Metadata.Namespace,
		Package:    spec.Name,
		Bundle:     status.InstalledCSV,
	}}
	if spec.Channel != "" {
		r.Channels = []string{spec.Channel}
	}
	if spec.Source != "" {
		r.Catalog = spec.SourceNamespace + "/" + spec.Source
	}
	if status.CurrentCSV != "" && status.CurrentCSV != status.InstalledCSV {
		r.Notes = []string{"an update to " + status.CurrentCSV + " is in progress or waits for approval"}
	}
	return r, true, nil
}
