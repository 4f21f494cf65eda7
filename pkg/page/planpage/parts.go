package planpage

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A part is a package, a release, a chart or a list of the configuration, which images belong to.
type part struct {
	key, name, kind string
	group           int // of the treemap
}

// The groups of parts. Shared content belongs to several parts.
const (
	ofOperators = iota
	ofReleases
	ofCharts
	ofImages
	ofSignatures
	shared
)

func groups() []string {
	return []string{"operators", "releases", "charts", "images and files", "signatures", "shared by several"}
}

// partOf returns the part that a reason belongs to.
func partOf(r plan.Reason) part {
	switch {
	case r.Release != "":
		return part{"release " + r.Release, r.Release, "release", ofReleases}
	case r.Chart != "":
		return part{"chart " + r.Chart, r.Chart, "chart", ofCharts}
	case r.Package != "":
		return part{packageKey(r.Catalog, r.Package), r.Package, "package", ofOperators}
	case r.List == "signatures":
		return part{"signatures", "Signatures", "of other images", ofSignatures}
	case r.List == "operators":
		return part{"catalogs", "Catalogs", "images of catalogs", ofOperators}
	case r.List == "platform" || r.List == plan.ToolsList:
		return part{"platform", "Platform", "graph data and boot images", ofReleases}
	case r.List == "files":
		return part{"files", "Files", "mirror.files", ofImages}
	}
	return part{"images", "Additional images", "mirror." + r.List, ofImages}
}

func packageKey(catalog, name string) string { return "package " + catalog + " " + name }

// additional returns the images that the configuration names itself.
func (b *builder) additional() (all []*plan.Image) {
	for i := range b.Plan.Images {
		img := &b.Plan.Images[i]
		if img.Kind == plan.AdditionalImage && !slices.ContainsFunc(img.Reasons, func(r plan.Reason) bool { return r.Chart != "" }) {
			all = append(all, img)
		}
	}
	return all
}

// sourceName returns the source of an image without its digest, which has a column of its own.
func sourceName(img *plan.Image) string {
	return strings.TrimSuffix(plan.SourceText(img.Source), "@"+string(img.Digest))
}
