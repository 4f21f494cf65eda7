package template

import (
	"encoding/base64"
	"encoding/json"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A packageText is an olm.package.
type packageText struct {
	Schema         string `json:"schema"`
	Name           string `json:"name"`
	DefaultChannel string `json:"defaultChannel"`
	Icon           *icon  `json:"icon,omitempty"`
	Description    string `json:"description,omitempty"`
}

type icon struct {
	Data      []byte `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// presentation returns the icon and the description in the ClusterServiceVersion of a bundle. Either
// may be missing; opm does not check them.
func presentation(m *catalog.Meta) (*icon, string) {
	b, err := bundleOf(m)
	if err != nil {
		return nil, ""
	}
	for _, p := range b.Properties {
		if p.Type != "olm.bundle.object" {
			continue
		}
		var object struct {
			Data []byte `json:"data"`
		}
		var csv struct {
			Kind string `json:"kind"`
			Spec struct {
				Description string `json:"description"`
				Icon        []struct {
					Data      string `json:"base64data"`
					MediaType string `json:"mediatype"`
				} `json:"icon"`
			} `json:"spec"`
		}
		if json.Unmarshal(p.Value, &object) != nil || json.Unmarshal(object.Data, &csv) != nil || csv.Kind != "ClusterServiceVersion" {
			continue
		}
		var found *icon
		if len(csv.Spec.Icon) > 0 {
			first := csv.Spec.Icon[0]
			if data, err := base64.StdEncoding.DecodeString(first.Data); err == nil && len(data) > 0 {
				found = &icon{data, first.MediaType}
			}
		}
		return found, csv.Spec.Description
	}
	return nil, ""
}
