package removal

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// deletions are what a DeleteImageSetConfiguration selects of the current revisions of a mirror.
type deletions struct {
	selector *deletion.Selector
	name     string // the only image set that loses content, "" for all
	read     bool   // an image set that may lose content was found
	selected []selectedImage
	stays    []StayingImage
	sets     []string
	// choices are what the plans of image sets lose.
	choices map[string]*deletion.Choice
	// wanted has why an image of a current revision is wanted.
	wanted map[imagePlace]string
}

// An imagePlace is a manifest in a repository of the registry.
type imagePlace struct {
	repository string
	digest     digest.Digest
}

type selectedImage struct {
	imagePlace
	DeletedImage
}

// add adds the current revision of an image set, and returns which of its images are wanted nevertheless. d may
// be nil: all are.
func (d *deletions) add(revision *setrecord.Revision, p *plan.Plan, names map[string]reference.Reference) (func(*plan.Image) bool, error) {
	if d == nil {
		return nil, nil
	}
	selector := d.selector
	if d.name != "" && d.name != revision.Name {
		selector = deletion.New(&imageset.Deletion{}) // selects nothing
	} else {
		d.read = true
	}
	selected, err := selector.Of(p)
	if err != nil {
		return nil, fmt.Errorf("reading revision %d of the image set %q: %w", revision.Number, revision.Name, err)
	}
	at := func(img *plan.Image) (imagePlace, string) {
		ref := names[img.Repository]
		if ref.Digest = img.Digest; len(img.Tags) > 0 {
			ref = names[img.Repository].WithTag(img.Tags[0])
		}
		return imagePlace{ref.Path, img.Digest}, ref.String()
	}
	for i := range p.Images {
		if img := &p.Images[i]; !selected.Has(img) {
			place, _ := at(img)
			d.wanted[place] = "the image set " + revision.Name + " needs it"
		}
	}
	for i := range selected.Named {
		named := &selected.Named[i]
		_, image := at(&named.Image)
		d.stays = append(d.stays, StayingImage{named.Image.Source, image, "the image set " + revision.Name + " needs it: " + named.Because})
	}
	for i := range selected.Images {
		img := &selected.Images[i]
		place, image := at(img)
		d.selected = append(d.selected, selectedImage{place, DeletedImage{img.Source, image, img.Kind, img.Digest}})
	}
	if selected.Choice.Touches(p) {
		d.sets, d.choices[revision.Name] = append(d.sets, revision.Name), selected.Choice
	}
	return func(img *plan.Image) bool { return !selected.Has(img) }, nil
}

// list returns the selected images that a plan deletes, and why the others stay.
func (d *deletions) list(r *recordedRevisions, p *prune.DeletionPlan) *DeletionList {
	deleted, kept := map[imagePlace]bool{}, map[imagePlace]string{}
	for i := range p.Manifests {
		deleted[imagePlace{p.Manifests[i].Repository, p.Manifests[i].Digest}] = true
	}
	for _, k := range p.Kept {
		if k.Digest != "" {
			kept[imagePlace{k.Repository, k.Digest}] = k.Reason
		}
	}
	l := &DeletionList{Images: []DeletedImage{}, Stays: d.stays, Unmatched: d.selector.Unmatched(), ImageSets: d.sets}
	type part struct{ repository, source string }
	parts, seen := map[part]bool{}, map[string]bool{}
	for _, img := range d.selected {
		if seen[img.Image] {
			continue // several image sets have it
		}
		seen[img.Image] = true
		_, wanted := r.all.Has(reference.Reference{Path: img.repository, Digest: img.digest})
		switch reason := cmp.Or(d.wanted[img.imagePlace], kept[img.imagePlace]); {
		case reason != "":
			l.Stays = append(l.Stays, StayingImage{img.Source, img.Image, reason})
		case deleted[img.imagePlace]:
			l.Images = append(l.Images, img.DeletedImage)
			parts[part{img.repository, img.Source}] = true
		case wanted:
			l.Stays = append(l.Stays, StayingImage{img.Source, img.Image, "needed content refers to it"})
		default:
			l.Absent = append(l.Absent, img.Image)
		}
	}
	for i := range p.Manifests {
		if m := &p.Manifests[i]; parts[part{m.Repository, m.Source}] {
			l.Bytes += m.Bytes
		}
	}
	elements.Sort(l.Images, func(a, b DeletedImage) int { return cmp.Compare(a.Image, b.Image) })
	l.Stays = sortStaying(l.Stays)
	slices.Sort(l.Absent)
	slices.Sort(l.ImageSets)
	return l
}
