package mirror

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// A Holding is what a mirror holds of one plan, as far as a cluster has to know
// of it. The holdings of all plans of a mirror make its cluster resources.
type Holding struct {
	Images   []resources.Image   `json:"images"`
	Catalogs []resources.Catalog `json:"catalogs"`
	// Releases are the platform releases that are whole, and GraphData the image
	// of graph data, with its digest; nil where there is none. Updates are the paths
	// of the plan.
	Releases  []HeldRelease        `json:"releases,omitempty"`
	GraphData *reference.Reference `json:"graphData,omitempty"`
	Updates   []plan.UpdatePath    `json:"updates,omitempty"`
	// Selections tell what was chosen for the catalog that stands at a place of
	// the mirror ("host/path:tag"), by a digest of source, selection and template.
	Selections map[string]digest.Digest `json:"selections,omitempty"`
	// Turn counts the runs; see [Receipt].
	Turn int `json:"turn,omitempty"`
}

// Hold is the holding of a plan that was mirrored: the images that arrived and
// the catalogs and releases that were published. Images and releases that the
// mirror held before stay; so does a catalog that was held back this time.
func Hold(p *plan.Plan, names map[string]reference.Reference, report *Report, before *Holding) Holding {
	type place struct{ source, repository string }
	failed := map[place]bool{}
	for _, f := range report.Failed {
		failed[place{f.Source, f.Repository}] = true
	}
	h := Holding{Images: make([]resources.Image, 0, len(p.Images))}
	for _, img := range p.Images {
		source, err := reference.Parse(img.Source)
		if err != nil || img.Kind == plan.CatalogImage || failed[place{img.Source, img.Repository}] {
			continue // oci:// is nothing that a cluster could ask for
		}
		kind := kindOf(&img)
		for _, tag := range img.Tags {
			at := names[img.Repository]
			at.Tag, at.Digest = tag, img.Digest
			h.Images = append(h.Images, resources.Image{Source: source, Mirror: at, Kind: kind})
		}
	}
	h.Turn = 1
	if before != nil {
		h.Turn = before.Turn + 1
		// Nothing is deleted from a mirror by mirroring to it: what it held
		// before may still run somewhere, or be named by a catalog that was
		// held back.
		now := bySource(h.Images)
		for _, img := range before.Images {
			if !now(img.Source) {
				h.Images = append(h.Images, img)
			}
		}
	}
	h.Selections = map[string]digest.Digest{}
	out := func(whole plan.Whole, source, repository string) bool {
		return failed[place{source, repository}] || slices.ContainsFunc(report.Held, func(x Held) bool { return x.Whole() == whole })
	}
	h.holdReleases(p, names, out, before)
	for _, c := range p.Catalogs {
		if out(plan.Whole{Catalog: c.Name()}, c.Source, c.Repository) {
			if before != nil {
				if i := slices.IndexFunc(before.Catalogs, func(b resources.Catalog) bool { return b.Source == c.Source && b.Target == c.Target }); i >= 0 {
					at := placeOf(before.Catalogs[i])
					h.Catalogs, h.Selections[at] = append(h.Catalogs, before.Catalogs[i]), before.Selections[at]
				}
			}
			continue
		}
		at := names[c.Repository]
		at.Tag, at.Digest = c.Tag, c.Digest
		entry := resources.Catalog{
			Source: c.Source, Target: c.Target, Mirror: at,
			TemplateName: c.TemplateName, BinaryLess: c.BinaryLess, ConfigsDir: c.ConfigsDir,
		}
		if c.Template != "" {
			entry.Template = []byte(c.Template)
		}
		h.Catalogs, h.Selections[placeOf(entry)] = append(h.Catalogs, entry), selectionOf(c)
	}
	return h
}

// bySource tells which sources the images have. The index is a few bytes an image;
// a set of references would be larger than the images.
func bySource(images []resources.Image) func(reference.Reference) bool {
	order := make([]int32, len(images))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareReferences(images[a].Source, images[b].Source) })
	return func(source reference.Reference) bool {
		_, found := slices.BinarySearchFunc(order, source, func(i int32, source reference.Reference) int {
			return compareReferences(images[i].Source, source)
		})
		return found
	}
}

func compareReferences(a, b reference.Reference) int {
	return cmp.Or(
		strings.Compare(string(a.Digest), string(b.Digest)), strings.Compare(a.Path, b.Path),
		strings.Compare(a.Tag, b.Tag), strings.Compare(a.Host, b.Host))
}

// placeOf is where a catalog stands, without what stands there.
func placeOf(c resources.Catalog) string {
	at := c.Mirror
	at.Digest = ""
	return at.String()
}

// selectionOf is the same for catalogs that were chosen alike.
func selectionOf(c plan.Catalog) digest.Digest {
	var text bytes.Buffer
	if err := json.Compact(&text, c.Selection); err != nil {
		text.Write(c.Selection) // compared as it is
	}
	return digest.FromString(text.String() + "\x00" + c.Template)
}

// Merge is what a mirror holds of all its plans. Where two plans publish the same
// catalog, that of mine is the one that stands there now.
func Merge(mine Holding, others ...Holding) Holding {
	all := Holding{ // lists are copied where more comes
		Images: slices.Clip(mine.Images), Catalogs: slices.Clip(mine.Catalogs), Releases: slices.Clip(mine.Releases), GraphData: mine.GraphData,
		Updates: slices.Clip(mine.Updates),
	}
	for _, h := range others {
		all.Images = append(all.Images, h.Images...)
		all.Releases = addReleases(all.Releases, h.Releases)
		all.Updates = append(all.Updates, h.Updates...)
		if all.GraphData == nil {
			all.GraphData = h.GraphData
		}
		for _, c := range h.Catalogs {
			if !slices.ContainsFunc(all.Catalogs, func(have resources.Catalog) bool { return have.Source == c.Source && have.Target == c.Target }) {
				all.Catalogs = append(all.Catalogs, c)
			}
		}
	}
	return all
}
