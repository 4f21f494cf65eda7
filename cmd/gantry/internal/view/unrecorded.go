package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Unrecorded returns what a mirror has and no record lists.
func Unrecorded(u *removal.Unrecorded) string {
	var b strings.Builder
	var others, attached []string
	var bytes int64
	for i := range u.Images {
		img := &u.Images[i]
		for j := range max(1, len(img.Tags)) {
			tag := strings.Join(img.Tags[j:min(j+1, len(img.Tags))], "")
			line := OneLine(nameOf(img.Repository, tag, string(img.Digest)) + " (" + img.Type)
			switch {
			case img.BelongsTo != "":
				attached = append(attached, line+")")
			case img.Recorded:
				attached = append(attached, line+", another tag)")
			default:
				others = append(others, line+", "+progress.Bytes(img.Bytes)+")")
			}
		}
		if img.BelongsTo == "" && !img.Recorded {
			bytes += img.Bytes
		}
	}
	writeIf(&b, len(others)+len(attached) == 0, "The records of %s list everything in its %s.\n", u.Mirror, Number(u.Repositories, "repository", "repositories"))
	if len(others) > 0 {
		fmt.Fprintf(&b, "%s in %s that no record lists (%s):\n", Number(len(others), "image or tag", "images or tags"), u.Mirror, progress.Bytes(bytes))
		List(&b, others)
	}
	if len(attached) > 0 {
		fmt.Fprintf(&b, "\n%s that no record lists, and that belong to recorded images (they are never selected):\n", Number(len(attached), "referrer or tag", "referrers or tags"))
		List(&b, attached)
	}
	writeIf(&b, u.Incomplete != "", "\nnote: %s\n", OneLine(u.Incomplete))
	switch {
	case u.Saved != "":
		fmt.Fprintf(&b, "\n%s has %s of these. To look at what would be deleted, and to delete it:\n  gantry prune --list %s %s\n  gantry prune --yes --list %s %s\n", u.Saved, Number(u.Selected, "image or tag", "images or tags"), u.Saved, u.Mirror, u.Saved, u.Mirror)
	case len(others) > 0:
		b.WriteString("\nNothing was deleted. Other clients may need all of it. To delete some: --select REPOSITORY[:TAG] --save FILE\nwrites a list for gantry prune --list.\n")
	}
	return b.String()
}
