package excerpt

import (
	"encoding/json"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// DisplayName returns the name that a bundle has for people, as its property olm.csv.metadata says, or "".
// Old catalogs have the name only in the manifests of the bundle, which are not read.
func DisplayName(b *catalog.Bundle) string {
	if b == nil {
		return ""
	}
	b, err := b.Complete()
	if err != nil {
		return ""
	}
	for _, p := range b.Properties {
		var short struct {
			DisplayName string `json:"displayName"`
		}
		if p.Type == "olm.csv.metadata" && json.Unmarshal(p.Value, &short) == nil {
			return short.DisplayName
		}
	}
	return ""
}
