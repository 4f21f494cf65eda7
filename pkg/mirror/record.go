package mirror

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// NewRecord returns what a mirror contains of a plan after a run: the images that were copied, and
// the catalogs and releases that were published. names are the repositories in the mirror. earlier
// is the record of the run before, or nil; its images and releases stay, and so do its catalogs if
// they were withheld this time.
func NewRecord(p *plan.Plan, names map[string]reference.Reference, report *Report, earlier *state.Record) state.Record {
	type copied struct{ source, repository string }
	failed := map[copied]bool{}
	for _, f := range report.Failed {
		failed[copied{f.Source, f.Repository}] = true
	}
	r := state.Record{Images: make([]resources.Image, 0, len(p.Images)), Selections: map[string]digest.Digest{}, Format: p.Format, Runs: 1}
	for _, img := range p.Images {
		source, err := reference.Parse(img.Source)
		if err != nil || img.Kind == plan.CatalogImage || failed[copied{img.Source, img.Repository}] {
			continue // a cluster cannot ask for an oci:// source
		}
		if source.Digest != "" && source.Digest == img.RewrittenFrom {
			source.Digest = img.Digest // a cluster asks for the digest in the filtered catalog
		}
		kind := kindOf(&img)
		for _, tag := range img.Tags {
			target := names[img.Repository]
			target.Tag, target.Digest = tag, img.Digest
			r.Images = append(r.Images, resources.Image{Source: source, Mirror: target, Kind: kind})
		}
	}
	if earlier != nil {
		r.Runs = earlier.Runs + 1
		r.KeepImages(earlier)
	}
	withheld := func(whole plan.Publishable, source, repository string) bool {
		return failed[copied{source, repository}] || slices.ContainsFunc(report.Withheld, func(x Withheld) bool { return x.Publishable() == whole })
	}
	addReleases(&r, p, names, withheld)
	if earlier != nil {
		r.KeepReleases(earlier)
	}
	for _, c := range p.Catalogs {
		if withheld(plan.Publishable{Catalog: c.Name()}, c.Source, c.Repository) {
			if earlier != nil {
				r.KeepCatalog(earlier, c.Source, c.Target)
			}
			continue
		}
		r.AddCatalog(recordedCatalog(c, names), selectionOf(c))
	}
	return r
}

// RecordedCatalogs returns all catalogs of a plan as a record has them if they are published.
func RecordedCatalogs(p *plan.Plan, names map[string]reference.Reference) []resources.Catalog {
	return elements.Map(p.Catalogs, func(c plan.Catalog) resources.Catalog { return recordedCatalog(c, names) })
}

func recordedCatalog(c plan.Catalog, names map[string]reference.Reference) resources.Catalog {
	entry := CatalogOf(c)
	entry.Mirror = names[c.Repository]
	entry.Mirror.Tag, entry.Mirror.Digest = c.Tag, c.Digest
	return entry
}

// CatalogOf returns a catalog of a plan as its objects in clusters need it, without its place in a
// mirror.
func CatalogOf(c plan.Catalog) resources.Catalog {
	entry := resources.Catalog{
		Source: c.Source, Target: c.Target, BinaryLess: c.BinaryLess, ConfigsDir: c.ConfigsDir, VariantOf: c.VariantOf,
		TemplateName: c.TemplateName, ClusterCatalogTemplateName: c.ClusterCatalogTemplateName,
	}
	if c.Template != "" {
		entry.Template = []byte(c.Template)
	}
	if c.ClusterCatalogTemplate != "" {
		entry.ClusterCatalogTemplate = []byte(c.ClusterCatalogTemplate)
	}
	return entry
}

// addReleases adds the releases, update paths and graph data of a plan.
func addReleases(to *state.Record, p *plan.Plan, names map[string]reference.Reference, withheld func(plan.Publishable, string, string) bool) {
	for _, r := range p.Releases {
		if withheld(plan.Publishable{Release: r.Name()}, r.Source, r.Repository) {
			continue
		}
		target := names[r.Repository]
		target.Tag, target.Digest = r.Tag, r.Digest
		entry := state.Release{Version: r.Version, Arch: r.Arch, Source: r.Source, Mirror: target, URL: r.URL, Signatures: r.Signatures}
		for _, why := range r.Reasons {
			entry.AddChannel(why.Channel)
		}
		for _, iso := range r.LiveISOs {
			if i := slices.IndexFunc(p.Files, func(f plan.File) bool { return f.Name == iso.File }); i >= 0 && !withheld(plan.Publishable{}, p.Files[i].Source, p.Files[i].Repository) {
				entry.LiveISOs = append(entry.LiveISOs, iso)
			}
		}
		to.Releases = append(to.Releases, entry)
	}
	to.Updates = p.Updates
	if g := p.GraphData; g != nil && !withheld(plan.Publishable{}, g.Base, g.Repository) {
		target := names[g.Repository]
		target.Tag, target.Digest = g.Tag, g.Digest
		to.GraphData = &target
	}
}

// selectionOf returns a digest of what was selected of a catalog: the same for equal selections and
// templates.
func selectionOf(c plan.Catalog) digest.Digest {
	var text bytes.Buffer
	if err := json.Compact(&text, c.Selection); err != nil {
		text.Write(c.Selection) // not JSON
	}
	text.WriteString("\x00" + c.Template)
	if c.ClusterCatalogTemplate != "" { // otherwise it is the digest of older versions
		text.WriteString("\x00" + c.ClusterCatalogTemplate)
	}
	return digest.FromBytes(text.Bytes())
}

// kindOf returns the group of mirror sets that an image belongs to, or "" if clusters do not ask for
// it by the name of its source.
func kindOf(img *plan.Image) string {
	switch img.Kind {
	case plan.AdditionalImage:
		return "generic"
	case plan.ReleaseImage, plan.ComponentImage, plan.BootImage:
		return "release"
	case plan.SignatureImage, plan.AttestationImage, plan.SBOMImage, plan.ReferrerImage, plan.GraphImage, plan.ChartImage, plan.FileImage:
		return ""
	}
	return "operator"
}
