package operator

import (
	"bytes"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/install"
)

// checkPinned returns an error if OLM v1 would install another bundle of the package for the
// ClusterExtension among objects than the one that was picked. It ignores the build metadata of versions
// when it compares them ("1.0.0+1" and "1.0.0+2").
func checkPinned(objects []install.Object, p *catalog.Package, picked *catalog.Bundle) error {
	for _, o := range objects {
		if o["kind"] != "ClusterExtension" {
			continue
		}
		text, err := install.YAML([]install.Object{o})
		if err != nil {
			return err
		}
		extensions, _, err := extension.Read("the ClusterExtension of "+picked.Name, bytes.NewReader(text))
		if err != nil {
			return err
		}
		for _, e := range extensions {
			e.Selector = extension.Selector{} // it selects the catalog of the package
			got, err := extension.Resolve(e, []extension.Catalog{{Content: &catalog.Catalog{Packages: []*catalog.Package{p}}}})
			if err != nil {
				return advice.New(advice.Input, "choose another version", "OLM v1 would not install %s: %w", picked.Name, err)
			}
			if got.Bundle != picked.Name {
				return advice.New(advice.Input, "choose a channel or mirror a catalog without the other bundle, or install it with OLM classic",
					"OLM v1 would install bundle %s instead of %s: no version selects only one of them, because it ignores build metadata", got.Bundle, picked.Name)
			}
		}
	}
	return nil
}
