package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// collectGarbage says how the space is freed.
const collectGarbage = "The registry frees the space when it collects garbage: docs/21-prune.md says how, for\nCNCF distribution, Quay, Harbor, Nexus and Artifactory.\n"

// Pruned returns what was deleted, or would be.
func Pruned(r *removal.PruneResult) string {
	var b strings.Builder
	p := r.Plan
	switch {
	case p.Empty():
		fmt.Fprintf(&b, "Nothing to delete: everything that the records of %s list is needed.\n", p.Mirror)
	case r.Deleted == nil:
		fmt.Fprintf(&b, "%s from %s:\n", cmp.Or(textIf(r.Refused, "Not deleted"), "To delete"), p.Mirror)
		writeDeletions(&b, p)
		fmt.Fprintf(&b, "%s\n", sums("%s and %s in %s, %s that nothing else needs", p.Totals.Manifests, p.Totals.Tags, p.Totals.Repositories, p.Totals.Bytes))
	case onlyRecords(r):
		fmt.Fprintf(&b, "Deleted from %s: %s.\n", p.Mirror, earlierRecords(len(p.Revisions)))
	default:
		d := r.Deleted
		fmt.Fprintf(&b, "Deleted from %s: %s and %s, %s that nothing else needs.\n", p.Mirror,
			Number(d.Manifests, "manifest", "manifests"), Number(d.Tags, "tag", "tags"), progress.Bytes(d.Bytes))
	}
	if f := r.Forgotten; f != nil {
		fmt.Fprintf(&b, "The image set %s %s\n", OneLine(f.Name), cmp.Or(textIf(f.Done, "was given up, and its records were deleted."), "is given up: its records are deleted last."))
	}
	if r.Resources != nil {
		fmt.Fprintf(&b, "The cluster resources in %s were written again.\n", r.Resources.Dir)
	}
	section(&b, "\nNot needed by any image set, but kept:", elements.Map(p.Kept, func(k prune.Kept) string {
		return OneLine(nameOf(k.Repository, k.Tag, string(k.Digest)) + ": " + k.Reason)
	}))
	switch {
	case p.Empty(), onlyRecords(r):
	case r.Refused:
		b.WriteString("\nNothing was deleted.\n")
	case r.Deleted == nil:
		fmt.Fprintf(&b, "\nThe mirror has records of %s: %s. What any other image set needs is not known,\nand is deleted if it is listed here: run gantry mirror for it before.\n", Number(len(r.ImageSets), "image set", "image sets"), OneLine(strings.Join(r.ImageSets, ", ")))
		how := " set --yes, or save the plan with --save and execute it with --plan."
		if r.Saved != "" {
			how = "\n  gantry prune --plan " + ShellWord(r.Saved) + " " + p.Mirror
		}
		fmt.Fprintf(&b, "\nNothing was deleted. To delete:%s\n", how)
	default:
		b.WriteString("\n" + collectGarbage)
	}
	return b.String()
}

// onlyRecords reports whether nothing but records was deleted.
func onlyRecords(r *removal.PruneResult) bool {
	return r.Deleted != nil && r.Deleted.Manifests+r.Deleted.Tags+len(r.Deleted.Failed) == 0 && len(r.Plan.Revisions) > 0
}

// earlierRecords returns a number of records in words.
func earlierRecords(n int) string {
	return Number(n, "earlier record that lists nothing else", "earlier records that list nothing else")
}

// sums fills in the totals of a plan.
func sums(format string, manifests, tags, repositories int, bytes int64) string {
	return fmt.Sprintf(format, Number(manifests, "manifest", "manifests"), Number(tags, "tag", "tags"), Number(repositories, "repository", "repositories"), progress.Bytes(bytes))
}

// writeDeletions lists images and tags, by image set.
func writeDeletions(b *strings.Builder, p *prune.DeletionPlan) {
	lines := map[string][]string{}
	add := func(t prune.Revision, line string) { lines[t.ImageSet] = append(lines[t.ImageSet], OneLine(line)) }
	type part struct{ repository, source string }
	parts := map[part]int64{} // sizes of what is in indexes, with the first that is listed
	for i := range p.Manifests {
		if m := &p.Manifests[i]; m.Step > 1 && len(m.Tags) == 0 {
			parts[part{m.Repository, m.Source}] += m.Bytes
		}
	}
	for i := range p.Manifests {
		m := &p.Manifests[i]
		tag := strings.Join(m.Tags[:min(1, len(m.Tags))], "")
		if m.Step > 1 && tag == "" {
			continue // a part of another image
		}
		bytes := m.Bytes + parts[part{m.Repository, m.Source}]
		delete(parts, part{m.Repository, m.Source})
		add(m.LastWanted, fmt.Sprintf("%s (%s)", nameOf(m.Repository, tag, string(m.Digest)), progress.Bytes(bytes)))
	}
	for _, t := range p.Tags {
		add(t.LastWanted, fmt.Sprintf("%s (the tag alone)", nameOf(t.Repository, t.Tag, "")))
	}
	for _, set := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(b, "\n%s in the image set %s before:\n", Number(len(lines[set]), "image or tag", "images or tags"), OneLine(set))
		List(b, lines[set])
	}
	writeIf(b, len(p.Revisions) > 0, "\n%s\n", earlierRecords(len(p.Revisions)))
	b.WriteString("\n")
}

// nameOf returns the name of an image in a registry.
func nameOf(repository, tag, digest string) string {
	switch {
	case tag != "":
		return repository + ":" + tag
	case digest != "":
		return repository + "@" + digest
	}
	return repository
}

// DeletionFailures returns a line for each manifest or tag that could not be deleted, 20 at most.
func DeletionFailures(r *prune.Report) []string {
	if r == nil {
		return nil
	}
	var lines []string
	for i, f := range r.Failed {
		if i == maxListed {
			lines = append(lines, fmt.Sprintf("%s (--output json lists all)", Number(len(r.Failed)-i, "further deletion failed", "further deletions failed")))
			break
		}
		lines = append(lines, fmt.Sprintf("%s was not deleted: %s", OneLine(nameOf(f.Repository, f.Tag, string(f.Digest))), f.Message))
	}
	return lines
}
