package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// DeletedList returns what was deleted of a list of images, and what stays. how says how a list is deleted that was only
// looked at.
func DeletedList(r *removal.DeleteResult, how string) string {
	var b strings.Builder
	switch d := r.Deleted; {
	case r.Refused:
		fmt.Fprintf(&b, "Nothing was deleted from %s.\n", r.Mirror)
	case r.Plan == nil:
		fmt.Fprintf(&b, "Nothing was deleted from %s yet. Run it again to continue.\n", r.Mirror)
	case r.DryRun && !r.Plan.Empty():
		p := r.Plan
		fmt.Fprintf(&b, "To delete from %s: %s.\n", r.Mirror, sums("%s and %s in %s, %s that nothing else needs", p.Totals.Manifests, p.Totals.Tags, p.Totals.Repositories, p.Totals.Bytes))
	case d == nil && len(r.Stays) > 0:
		fmt.Fprintf(&b, "Nothing was deleted from %s: what the mirror has of the list is needed.\n", r.Mirror)
	case d == nil:
		fmt.Fprintf(&b, "Nothing to delete from %s: the mirror has none of the listed images.\n", r.Mirror)
	default:
		fmt.Fprintf(&b, "Deleted from %s: %s and %s, %s that nothing else needs.\n", r.Mirror,
			Number(d.Manifests, "manifest", "manifests"), Number(d.Tags, "tag", "tags"), progress.Bytes(d.Bytes))
	}
	catalogs := elements.Map(r.Catalogs, func(c removal.RepublishedCatalog) string {
		return OneLine(c.Image + " (" + c.Catalog + ", image set " + c.ImageSet + ")")
	})
	switch {
	case r.DryRun:
		section(&b, "\nTo publish again without the bundles:", catalogs)
		section(&b, "\nListed and to be deleted:", elements.Map(r.Images, OneLine))
	default:
		section(&b, "\nPublished again without the bundles:", catalogs)
		if r.Deleted != nil {
			section(&b, "\nListed and deleted:", elements.Map(r.Images, OneLine))
		}
	}
	section(&b, "\nListed, but kept:", elements.Map(r.Stays, staying))
	section(&b, "\nNot in the mirror:", elements.Map(r.Absent, OneLine))
	if r.Resources != nil {
		fmt.Fprintf(&b, "\nThe cluster resources in %s were written again: apply them.\n", r.Resources.Dir)
	}
	switch {
	case r.NoRecords:
		b.WriteString("\nThe mirror has no records of image sets. Not checked: whether catalogs, releases or clusters\nneed what was listed. Catalogs that name it were not changed.\n")
	case r.Unrecorded > 0:
		fmt.Fprintf(&b, "\n%s in no record of the mirror. Not checked: whether other catalogs or clusters\nneed them.\n", Number(r.Unrecorded, "listed image is", "listed images are"))
	}
	if len(r.ImageSets) > 0 {
		fmt.Fprintf(&b, "\nRemove it from %s, too: the next\ngantry mirror brings back what is still selected.\n",
			configurationsOf(r.ImageSets))
	}
	switch {
	case r.DryRun:
		fmt.Fprintf(&b, "\nNothing was deleted, and nothing else was changed. To delete: %s.\n", how)
	case r.Deleted != nil:
		b.WriteString("\n" + collectGarbage)
	}
	return b.String()
}
