package installed

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// labelCatalog is the label of every ClusterCatalog with its own name, by which ClusterExtensions
// select one.
const labelCatalog = "olm.operatorframework.io/metadata.name"

// clusterExtension reads a ClusterExtension. It returns false if nothing is installed for it yet.
func clusterExtension(o object) (record, bool, error) {
	var spec struct {
		Source struct {
			Catalog struct {
				PackageName             string   `json:"packageName"`
				Version                 string   `json:"version"`
				Channels                []string `json:"channels"`
				UpgradeConstraintPolicy string   `json:"upgradeConstraintPolicy"`
				Selector                struct {
					MatchLabels map[string]string `json:"matchLabels"`
				} `json:"selector"`
			} `json:"catalog"`
		} `json:"source"`
	}
	var status struct {
		Install struct {
			Bundle struct {
				Name    string `json:"name"`
				Version string `json:"version"`
				Release string `json:"release"`
			} `json:"bundle"`
		} `json:"install"`
	}
	if err := cmp.Or(unmarshal(o, "spec", o.Spec, &spec), unmarshal(o, "status", o.Status, &status)); err != nil {
		return record{}, false, err
	}
	if status.Install.Bundle.Name == "" {
		return record{}, false, nil
	}
	source := spec.Source.Catalog
	slices.Sort(source.Channels)
	return record{Operator: Operator{
		Generation:     graph.V1,
		Name:           o.Metadata.Name,
		Package:        source.PackageName,
		Bundle:         status.Install.Bundle.Name,
		Version:        status.Install.Bundle.Version,
		Release:        status.Install.Bundle.Release,
		Channels:       slices.Compact(source.Channels),
		Range:          source.Version,
		ClusterCatalog: source.Selector.MatchLabels[labelCatalog],
		SelfCertified:  source.UpgradeConstraintPolicy == "SelfCertified",
	}}, true, nil
}
