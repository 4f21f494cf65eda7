package view

import (
	"path"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
)

// What oc mirror prints when it lists what to delete, and when it deletes (internal/pkg/cli, delete and batch of its version 2).

// ListedDeletions returns the lines about a new list of images to delete.
func (l *OCMirrorLog) ListedDeletions(list *removal.DeletionList) string {
	if len(list.Images) == 0 {
		return l.line("INFO", "\u2757 no images to delete...")
	}
	return l.line("INFO", "\U0001F4C4 Generating delete file...") + l.line("INFO", "%s file created", path.Dir(list.File))
}

// Deleted returns the lines about the images of a list: what became of each, and how many of each kind the mirror has no longer.
// complete means that none is left to delete.
func (l *OCMirrorLog) Deleted(r *removal.DeleteResult, complete bool) string {
	var b strings.Builder
	b.WriteString(l.line("INFO", "\U0001F440 Reading delete file..."))
	b.WriteString(l.line("INFO", "\U0001F680 Start deleting the images..."))
	b.WriteString(l.line("INFO", "\U0001F4CC images to delete %d ", len(r.Listed)))
	left := leftAfter(r)
	total, done := map[string]int{}, map[string]int{}
	for i := range r.Listed {
		item := &r.Listed[i]
		kind := deletedKind(item.Type)
		total[kind]++
		if left(item) {
			b.WriteString(l.line("ERROR", "Failed to delete %s %s", item.Type, item.Source))
			continue
		}
		done[kind]++
		b.WriteString(l.line("INFO", "Success deleting %s \u27A1\uFE0F %s/", item.Source, path.Dir(item.Image.Name())))
	}
	b.WriteString(l.results("deleted", total, done))
	writeIf(&b, complete, "%s", l.line("INFO", "\U0001F4DD Remember to execute a garbage collect (or similar) on your remote repository"))
	return b.String()
}

// DeletionEnd returns the last lines.
func (l *OCMirrorLog) DeletionEnd(took time.Duration) string {
	return l.line("INFO", "delete time     : %v", took) + l.line("INFO", "\U0001F44B Goodbye, thank you for using oc-mirror")
}

// leftAfter returns a function that tells whether the mirror still has an image of a list.
func leftAfter(r *removal.DeleteResult) func(*deletion.Item) bool {
	gone, failed := map[string]bool{}, map[string]bool{}
	for _, name := range r.Absent {
		gone[name] = true
	}
	if r.Deleted != nil {
		for _, name := range r.Images {
			gone[name] = true
		}
		for i := range r.Deleted.Failed {
			if f := &r.Deleted.Failed[i]; f.Tag != "" {
				failed[f.Repository+":"+f.Tag] = true
			} else {
				failed[f.Repository+"@"+string(f.Digest)] = true
			}
		}
	}
	return func(item *deletion.Item) bool {
		at := item.Image
		return !gone[at.String()] || failed[at.Path+"@"+string(item.Digest)] || failed[at.Path+":"+at.Tag]
	}
}

// deletedKind returns which of the four kinds of oc mirror a type of an image in a list is of.
func deletedKind(itemType string) string {
	switch {
	case strings.HasPrefix(itemType, "ocpRelease"), itemType == "cincinnatiGraph":
		return "release"
	case strings.HasPrefix(itemType, "operator"):
		return "operator"
	case itemType == "helmImage":
		return "helm"
	default:
		return "additional"
	}
}
