package template

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// readBasic returns the entries of a basic template: objects of a catalog, in which an olm.bundle has
// nothing but its image and perhaps its name.
func readBasic(name string, raw []byte) ([]*catalog.Meta, error) {
	var t struct {
		Entries []json.RawMessage `json:"entries"`
	}
	if err := unmarshal(raw, &t, false); err != nil {
		return nil, err
	}
	if len(t.Entries) == 0 {
		return nil, fmt.Errorf("entries is empty or missing")
	}
	metas := make([]*catalog.Meta, len(t.Entries))
	for i, entry := range t.Entries {
		found, err := objects(name, bytes.NewReader(entry))
		switch {
		case err != nil:
			return nil, fmt.Errorf("entries[%d]: %w", i, err)
		case len(found) != 1:
			return nil, fmt.Errorf("entries[%d] is not an object", i)
		}
		metas[i] = found[0]
		if metas[i].Schema == catalog.SchemaBundle {
			if err := checkBundleEntry(metas[i]); err != nil {
				return nil, fmt.Errorf("entries[%d]: %w", i, err)
			}
		}
	}
	return metas, nil
}

// A bundleEntry is an olm.bundle of a basic template.
type bundleEntry struct {
	Image         string            `json:"image"`
	Package       string            `json:"package"`
	Properties    []json.RawMessage `json:"properties"`
	RelatedImages []json.RawMessage `json:"relatedImages"`
}

// checkBundleEntry refuses bundles that are rendered already: what they say would be lost.
func checkBundleEntry(m *catalog.Meta) error {
	var b bundleEntry
	if err := unmarshal(m.Raw, &b, false); err != nil {
		return err
	}
	switch {
	case b.Image == "":
		return fmt.Errorf("the bundle has no image")
	case b.Package != "" || len(b.Properties) > 0 || len(b.RelatedImages) > 0:
		return fmt.Errorf("bundle %s has more than an image; remove package, properties and relatedImages, which come from the image", b.Image)
	}
	return nil
}

// bundleImage returns the image of a checked olm.bundle.
func bundleImage(m *catalog.Meta) string {
	var b bundleEntry
	_ = unmarshal(m.Raw, &b, false) // was checked
	return b.Image
}
