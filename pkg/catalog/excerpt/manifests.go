package excerpt

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Manifests returns the manifests of a kind, or all if it is "", that the catalog has of a bundle, as JSON,
// in the order of its properties. There are none if the catalog only has olm.csv.metadata. It returns an error if a
// manifest cannot be parsed.
func Manifests(b *catalog.Bundle, kind string) ([][]byte, error) {
	var all [][]byte
	err := each(b, nil, func(value []byte) error {
		m, err := manifestOf(value)
		if err != nil || kind != "" && m.Kind != kind {
			return err
		}
		text, err := objectText(value)
		all = append(all, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
