package plan

import "slices"

// DeclaredFeatures are the infrastructure features that a bundle declares, such as disconnected,
// proxy-aware and fips-compliant.
type DeclaredFeatures struct {
	Package     string   `json:"package"`
	Bundle      string   `json:"bundle"`
	Supported   []string `json:"supported,omitempty"`
	Unsupported []string `json:"unsupported,omitempty"`
}

// A FeatureList is what bundles declare. It is known while a plan is made, and not written: it would make
// nearly every plan one that earlier versions, which refuse unknown fields, cannot read.
type FeatureList []DeclaredFeatures

// IsZero reports true, so that the list is never written.
func (FeatureList) IsZero() bool { return true }

// checkFeatures checks what a catalog says of declared features.
func (c *Catalog) checkFeatures() error {
	for _, f := range c.Features {
		if err := checkTexts("a package", f.Package, "a bundle", f.Bundle); err != nil {
			return err
		}
		for _, name := range slices.Concat(f.Supported, f.Unsupported) {
			if err := checkText("a feature", name); err != nil {
				return err
			}
		}
	}
	return nil
}

// featuresOf returns what a bundle of the catalog declares, or nil if that is unknown.
func (c *Catalog) featuresOf(pkg, bundle string) *DeclaredFeatures {
	for i := range c.Features {
		if f := &c.Features[i]; f.Package == pkg && f.Bundle == bundle {
			return f
		}
	}
	return nil
}
