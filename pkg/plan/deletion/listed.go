package deletion

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Listed returns what the images of a list select of a plan: the bundles, releases, charts and additional images
// that they are. If the list has the image of a catalog, only bundles of such catalogs are selected: a
// bundle may be in other catalogs, too. A catalog is selected if all of its bundles are. A chart that the list
// does not have is selected if it has all images of the chart.
func Listed(p *plan.Plan, has func(*plan.Image) bool) *Choice {
	c := newChoice()
	catalogs, charts, unlisted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	artifacts := map[string]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		listed := has(img)
		if listed && img.Kind == plan.CatalogImage {
			catalogs[img.Catalog] = true
		}
		for _, r := range img.Reasons {
			switch {
			case r.Chart == "":
			case img.Kind == plan.ChartImage:
				artifacts[r.Chart] = artifacts[r.Chart] || listed
			case listed:
				charts[r.Chart] = true
			default:
				unlisted[r.Chart] = true
			}
		}
	}
	for i := range p.Charts {
		if name := p.Charts[i].String(); artifacts[name] || charts[name] && !unlisted[name] {
			c.Charts[name] = true
		}
	}
	for i := range p.Images {
		img := &p.Images[i]
		if !has(img) {
			continue
		}
		what, _ := img.Publishable()
		if what.Release != "" {
			c.Releases[what.Release] = true
		}
		c.Graph = c.Graph || img.Kind == plan.GraphImage
		for _, r := range img.Reasons {
			switch {
			case r.List == "additionalImages":
				c.Images[img.Source] = true
			case img.Kind == plan.BundleImage && r.Bundle != "" && (len(catalogs) == 0 || catalogs[r.Catalog]):
				c.Bundles[Bundle{r.Catalog, r.Package, r.Bundle}] = true
			}
		}
	}
	c.wholeCatalogs(p)
	for name := range catalogs {
		i := slices.IndexFunc(p.Catalogs, func(at plan.Catalog) bool { return at.Name() == name })
		if i >= 0 && len(p.Catalogs[i].Packages) == 0 {
			c.Catalogs[name] = true
		}
	}
	return c
}
