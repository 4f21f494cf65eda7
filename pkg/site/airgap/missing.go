package airgap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// emptiedSample is the number of images that are requested to find out whether a mirror was
// emptied.
const emptiedSample = 3

// absentSets returns the sets that an archive builds on and that are in none of its folders, in
// ascending order.
func absentSets(have *archive.Archive) []state.SetRef {
	var absent []state.SetRef
	for _, s := range have.Sets() {
		if s.Dir == "" {
			absent = append(absent, s.SetRef)
		}
	}
	elements.Sort(absent, func(a, b state.SetRef) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return absent
}

// withoutImported returns the sets that a receipt, which may be nil, does not list.
func withoutImported(sets []state.SetRef, r *state.Receipt) []state.SetRef {
	return slices.DeleteFunc(slices.Clone(sets), func(s state.SetRef) bool { return r != nil && r.Imported(s) })
}

// anyImported reports whether the receipt lists any of this content. The mirror has lost it since then,
// or has it under other names.
func (c *Import) anyImported(missing []ocispec.Descriptor) bool {
	if c.receipt == nil {
		return false
	}
	nowhere := make(map[digest.Digest]bool, len(missing))
	for _, desc := range missing {
		nowhere[desc.Digest] = true
	}
	return slices.ContainsFunc(c.receipt.Repositories, func(r state.Repository) bool {
		return slices.ContainsFunc(r.Images, func(img state.Image) bool { return nowhere[img.Digest] }) ||
			slices.ContainsFunc(r.Blobs, func(b state.Blob) bool { return nowhere[b.Digest] })
	})
}

// newestBefore returns the newest sequence before another that a receipt, which may be nil, lists, or 0.
func newestBefore(sequence int, r *state.Receipt) (newest int) {
	if r == nil {
		return 0
	}
	for _, s := range r.Sets {
		if s.Sequence < sequence {
			newest = max(newest, s.Sequence)
		}
	}
	return newest
}

// bringHint tells to bring archives whose folders were not named. What an absent archive builds on is
// not known. imported is the newest archive before them that the site has, or 0: the first of them
// needs no other if it follows that one.
func bringHint(sets []state.SetRef, imported, folders int) string {
	names := make([]string, 0, len(sets))
	for _, s := range sets {
		names = append(names, fmt.Sprintf("gantry-%06d", s.Sequence))
	}
	if sets[0].Sequence > imported+1 {
		base := names[0]
		if len(names) == 1 {
			base = "it"
		}
		return "bring " + listed(names, "and") + " too, and the archives that " + base + " builds on, and name their folders with Options.From"
	}
	switch {
	case len(sets) > 1:
		return "bring " + listed(names, "and") + " too and name their folders with Options.From"
	case folders > 1:
		return "bring " + names[0] + " too and name its folder with another Options.From"
	}
	return "bring " + names[0] + " too and name its folder with a second Options.From"
}

// sequences joins the sequences of sets as "1, 2 and 3".
func sequences(sets []state.SetRef) string {
	numbers := make([]string, 0, len(sets))
	for _, s := range sets {
		numbers = append(numbers, strconv.Itoa(s.Sequence))
	}
	return listed(numbers, "and")
}

// listed joins names as "a, b and c", with another word in place of and.
func listed(names []string, and string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + and + " " + names[last]
}

// missingError names the archives that are needed too: all that are in no folder and were not
// imported. If the mirror has lost content, those that were imported are needed again.
func (c *Import) missingError(missing []ocispec.Descriptor) error {
	absent := absentSets(c.Archive)
	never := withoutImported(absent, c.receipt)
	needed, imported, since := absent, 0, "Options.Full"
	if !c.lost && len(never) > 0 {
		needed = never
		if imported = newestBefore(needed[0].Sequence, c.receipt); imported > 0 {
			since = fmt.Sprintf("Options.Since %d", imported)
		}
	}
	where := "at the mirror"
	if c.site == nil {
		where = "at the destination, which is not a mirror"
	}
	newest := c.Archive.Selected().Sequence
	if damage := c.unusableVolumes(missing); damage != nil && len(needed) == 0 {
		return advice.New(advice.Mismatch, cmp.Or(damage.Rebuild, "copy these volumes again, or name the folders that have them with Options.From"),
			"sequence %d omits content of earlier archives: %w", newest, damage)
	}
	if len(needed) == 0 {
		return advice.New(advice.Mismatch, "write the archive again with Options.Full", "sequence %d omits content that none of the archives that it builds on has: %s neither in %s nor %s",
			newest, missingText(missing), strings.Join(c.from, ", "), where)
	}
	return advice.New(advice.Mismatch, bringHint(needed, imported, len(c.from))+", or write the archive again with "+since,
		"sequence %d builds on %s, %s: %s neither in %s nor %s",
		newest, sequences(needed), c.past(needed, never), missingText(missing), strings.Join(c.from, ", "), where)
}

// unusableVolumes returns the volumes that have the missing content and are themselves missing or damaged, or nil.
func (c *Import) unusableVolumes(missing []ocispec.Descriptor) *archive.DamageError {
	var all *archive.DamageError
	for _, desc := range missing {
		damage, ok := errors.AsType[*archive.DamageError](c.Archive.CheckContent(desc))
		if !ok {
			continue
		}
		if all == nil {
			all = &archive.DamageError{Dir: damage.Dir}
		}
		for _, d := range damage.Damage {
			if !slices.ContainsFunc(all.Damage, func(have archive.Damage) bool { return have.File == d.File }) {
				all.Damage = append(all.Damage, d)
			}
		}
	}
	if all != nil {
		all.Rebuild = c.Archive.RebuildHint(all.Damage)
	}
	return all
}

// past tells what happened to the archives that are needed if some of them were never imported.
func (c *Import) past(needed, never []state.SetRef) string {
	switch {
	case len(never) == 0:
		return "which this workspace imported, but the mirror has lost it or has it under other names"
	case len(never) < len(needed):
		return fmt.Sprintf("but this workspace has not imported %s, and the mirror has lost content that it imported or has it under other names", sequences(never))
	case c.lost:
		return "which this workspace has not imported, and the mirror has lost content that it imported or has it under other names"
	}
	return "which this workspace has not imported"
}

// missingText describes the missing content, with the verb "is" or "are".
func missingText(missing []ocispec.Descriptor) string {
	if len(missing) == 1 {
		return fmt.Sprintf("%s is", missing[0].Digest)
	}
	var size int64
	for _, desc := range missing {
		size += desc.Size
	}
	return fmt.Sprintf("%d manifests and blobs (%s), such as %s, are", len(missing), progress.Bytes(size), missing[0].Digest)
}

// neverImported returns the sets that the archive builds on and that were never imported, as far as
// the workspace knows.
func (c *Import) neverImported() []state.SetRef {
	return withoutImported(c.Archive.Selected().BuildsOn, c.receipt)
}
