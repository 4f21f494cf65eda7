package airgap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// RequestRepair returns the request for what an archive lost. damage is what Verify found. The
// request has neither content nor PlanLost if everything can be read. A repair is for one set: if
// several sets lost content, RequestRepair returns an error of kind advice.Input that names them,
// unless chosen reports that the archive was opened by its sequence. If an earlier set lost the
// content, open opens that set, since its plan names the images that contain the content.
func RequestRepair(ctx context.Context, have *archive.Archive, damage []archive.Damage, chosen bool, open func(sequence int) (*archive.Archive, error)) (*state.RepairRequest, error) {
	owner, lost, err := lostContent(have, damage, chosen)
	if err != nil {
		return nil, err
	}
	if owner.Sequence != have.Selected().Sequence {
		if have, err = open(owner.Sequence); err != nil {
			return nil, err
		}
		defer func() { _ = have.Close() }() // only read
	}
	return newRequest(ctx, have, lost)
}

// lostContent returns the set that lost content, and what it lost.
func lostContent(have *archive.Archive, damage []archive.Damage, chosen bool) (owner state.SetRef, lost []archive.EntryInfo, err error) {
	owner = have.Selected().SetRef
	gone := map[digest.Digest]bool{}
	for _, d := range (&archive.DamageError{Damage: damage}).Lost() {
		gone[d] = true
	}
	of := map[state.SetRef][]archive.EntryInfo{}
	for e := range have.Entries() {
		if blob, ok := have.BlobOf(e.Digest); ok && e.IsContent { // the blob itself is requested
			e.Digest, e.ContentSize = blob.Digest, blob.Size
		}
		if e.IsContent && !e.Repair && gone[e.Digest] && e.Part <= 1 {
			delete(gone, e.Digest) // count it for the newest set that has it
			of[e.Set] = append(of[e.Set], e)
		}
	}
	switch {
	case len(of) == 0, chosen:
		return owner, of[owner], nil
	case len(of) == 1:
		for owner, lost = range of {
			return owner, lost, nil
		}
	}
	var names []string
	for _, s := range elements.Sorted(maps.Keys(of), func(a, b state.SetRef) int { return cmp.Compare(a.Sequence, b.Sequence) }) {
		names = append(names, fmt.Sprintf("Options.Sequence %d", s.Sequence))
	}
	return owner, nil, advice.New(advice.Input, "run this once with each of "+strings.Join(names, ", "), "several archives lost content, and a repair request is for one")
}

// newRequest returns the request for what the opened set lost.
func newRequest(ctx context.Context, have *archive.Archive, lost []archive.EntryInfo) (*state.RepairRequest, error) {
	s := have.Selected()
	r := &state.RepairRequest{Name: s.Series, SetRef: s.SetRef, Plan: have.PlanDigest(), Encrypted: s.Encrypted}
	p, err := ReadPlan(ctx, have)
	var planDamage *archive.DamageError
	switch {
	case errors.As(err, &planDamage):
		r.PlanLost = true
	case err != nil && len(lost) > 0:
		return nil, fmt.Errorf("finding the images that have what is lost: %w", err)
	case errors.Is(err, fs.ErrNotExist): // the plan is in an earlier set and not lost
	case err != nil:
		return nil, err
	}
	digests := elements.Map(lost, func(e archive.EntryInfo) digest.Digest { return e.Digest })
	holders := map[digest.Digest][]*plan.Image{}
	if p != nil {
		if holders, err = mirror.ImagesByContent(p, digests); err != nil {
			return nil, err
		}
	}
	for _, e := range lost {
		c := state.LostContent{Digest: e.Digest, Size: e.ContentSize, MediaType: e.MediaType, Sources: sourcesOf(holders[e.Digest])}
		c.Sources = c.Sources[:min(len(c.Sources), maxRequestSources)]
		if len(c.Sources) > 0 || p == nil { // skip content that no image needs
			r.Content = append(r.Content, c)
		}
	}
	elements.Sort(r.Content, func(a, b state.LostContent) int { return cmp.Compare(a.Digest, b.Digest) })
	return r, nil
}

// maxRequestSources is the number of images that a request names for content that several images
// share. Any of them is enough.
const maxRequestSources = 20

// sourcesOf returns the sources of images, sorted and without duplicates. It is never nil.
func sourcesOf(images []*plan.Image) []string {
	sources := []string{}
	for _, img := range images {
		sources = append(sources, img.Source)
	}
	slices.Sort(sources)
	return slices.Compact(sources)
}
