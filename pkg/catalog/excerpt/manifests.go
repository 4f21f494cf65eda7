package excerpt

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Manifests returns the manifests of a kind, or all if it is "", that the catalog has of a bundle, as JSON,
// in the order of its properties. There are none if the catalog only has olm.csv.metadata. It returns an error if a
// manifest cannot be parsed.
func Manifests(b *catalog.Bundle, kind string) ([][]byte, error) {
	b, err := b.Complete()
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for i, p := range b.Properties {
		if p.Type != "olm.bundle.object" {
			continue
		}
		m, err := manifestOf(p.Value)
		if err == nil && (kind == "" || m.Kind == kind) {
			var text []byte
			text, err = objectText(p.Value)
			all = append(all, text)
		}
		if err != nil {
			return nil, fmt.Errorf("reading property %d (%s) of bundle %s: %w", i, p.Type, b.Name, err)
		}
	}
	return all, nil
}
