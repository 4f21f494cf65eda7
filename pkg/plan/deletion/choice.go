package deletion

import (
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A Bundle is a bundle of a package in a catalog of a plan (plan.Catalog.Name).
type Bundle struct{ Catalog, Package, Name string }

// A BlockedImage is an image that blockedImages matches.
type BlockedImage struct {
	Kind   plan.ImageKind
	Source string
}

// A Choice is the parts of a plan that are selected.
type Choice struct {
	// Bundles are false if they are named and stay, since they are in other channels, too.
	Bundles map[Bundle]bool
	// Catalogs are whole ones, by plan.Catalog.Name.
	Catalogs map[string]bool
	// Releases are by plan.Release.Name, false if they are named and stay.
	Releases map[string]bool
	// Charts are by plan.Chart.String, Images additional images by plan.Image.Source.
	Charts, Images map[string]bool
	// Blocked are other images, also some that are unavailable, by kind and source, whatever names them.
	Blocked map[BlockedImage]plan.Blocked
	// Graph is the image with the update graph.
	Graph bool

	needed map[Bundle]string
}

func newChoice() *Choice {
	return &Choice{Bundles: map[Bundle]bool{}, Catalogs: map[string]bool{}, Releases: map[string]bool{}, Charts: map[string]bool{}, Images: map[string]bool{}, Blocked: map[BlockedImage]plan.Blocked{}, needed: map[Bundle]string{}}
}

// Keep keeps a selected bundle, for a reason.
func (c *Choice) Keep(b Bundle, because string) { c.Bundles[b], c.needed[b] = false, because }

// A Selected is what is selected of one plan.
type Selected struct {
	// Images are the selected images, in the order of the plan.
	Images []plan.Image
	// Named are images that are named, and that stay, each with one of the reasons.
	Named []Staying
	// Choice is the parts of the plan that are selected.
	Choice *Choice

	names map[string]bool // of Images
}

// A Staying is an image that stays.
type Staying struct {
	Image plan.Image
	// Because is one reason: "bundle foo.v1.2.3 of CATALOG".
	Because string
}

// Has reports whether an image of the plan is selected.
func (s *Selected) Has(img *plan.Image) bool { return s.names[nameOf(img)] }

func nameOf(img *plan.Image) string { return img.Names()[0] + "\n" + string(img.Digest) }

// Of returns which images of a plan are selected.
func (c *Choice) Of(p *plan.Plan) (*Selected, error) {
	out := &Selected{Choice: c, names: map[string]bool{}}
	var stay []plan.Image
	for i := range p.Images {
		img := &p.Images[i]
		if img.Subject != "" {
			continue
		}
		because, named := c.judge(img)
		if because == "" {
			continue
		}
		stay = append(stay, *img)
		if named {
			out.Named = append(out.Named, Staying{*img, because})
		}
	}
	stay, err := p.WithAttached(stay)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for i := range stay {
		kept[nameOf(&stay[i])] = true
	}
	for i := range p.Images {
		if img := &p.Images[i]; !kept[nameOf(img)] {
			out.Images = append(out.Images, *img)
			out.names[nameOf(img)] = true
		}
	}
	return out, nil
}

// judge returns why an image stays, "" if it does not, and whether it is named.
func (c *Choice) judge(img *plan.Image) (because string, named bool) {
	for _, r := range img.Reasons {
		switch {
		case c.Selects(img, &r):
			named = true
			continue
		case because == "":
			because = Describe(img, &r)
		}
		b := Bundle{r.Catalog, r.Package, r.Bundle}
		_, bundled := c.Bundles[b]
		_, released := c.Releases[r.Release]
		switch {
		case c.needed[b] != "":
			because, named = Describe(img, &r)+", since "+c.needed[b], true
		case bundled, released:
			because, named = Describe(img, &r)+", which another channel has, too", true
		}
	}
	if len(img.Reasons) == 0 {
		because = "the plan has no reason for it"
	}
	return because, named
}

// Selects reports whether a reason for an image is selected.
func (c *Choice) Selects(img *plan.Image, r *plan.Reason) bool {
	if _, blocked := c.Blocked[BlockedImage{img.Kind, img.Source}]; blocked {
		return true
	}
	switch {
	case r.Bundle != "":
		return c.Bundles[Bundle{r.Catalog, r.Package, r.Bundle}]
	case r.Catalog != "":
		return c.Catalogs[r.Catalog]
	case r.Release != "":
		return c.Releases[r.Release]
	case r.Chart != "":
		return c.Charts[r.Chart]
	case r.List == "platform" && img.Kind == plan.GraphImage:
		return c.Graph
	case r.List == "additionalImages":
		return c.Images[img.Source]
	}
	return false
}

// Describe returns a reason for an image as text.
func Describe(img *plan.Image, r *plan.Reason) string {
	switch {
	case r.Bundle != "":
		return "bundle " + r.Bundle + " of " + r.Catalog
	case r.Catalog != "":
		return "catalog " + r.Catalog
	case r.Release != "":
		return "release " + r.Release
	case r.Chart != "":
		return "chart " + r.Chart
	case r.List != "":
		return r.List
	}
	return img.Source
}

// wholeCatalogs selects the catalogs whose bundles are all selected.
func (c *Choice) wholeCatalogs(p *plan.Plan) {
	for i := range p.Catalogs {
		at := &p.Catalogs[i]
		all, bundles := true, 0
		for j := range at.Packages {
			for name := range bundlesOf(&at.Packages[j]) {
				bundles++
				all = all && c.Bundles[Bundle{at.Name(), at.Packages[j].Name, name}]
			}
		}
		if all && bundles > 0 {
			c.Catalogs[at.Name()] = true
		}
	}
}

// Clone returns a copy.
func (c *Choice) Clone() *Choice {
	return &Choice{
		Bundles: maps.Clone(c.Bundles), Catalogs: maps.Clone(c.Catalogs), Releases: maps.Clone(c.Releases), Charts: maps.Clone(c.Charts), Images: maps.Clone(c.Images),
		Blocked: maps.Clone(c.Blocked), Graph: c.Graph, needed: maps.Clone(c.needed),
	}
}

// Touches reports whether a plan has anything that is selected.
func (c *Choice) Touches(p *plan.Plan) bool {
	for i := range p.Images {
		img := &p.Images[i]
		if slices.ContainsFunc(img.Reasons, func(r plan.Reason) bool { return c.Selects(img, &r) }) {
			return true
		}
	}
	return false
}
