package carry

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

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/repair"
	"github.com/gantry-mirror/gantry/plan"
)

// RequestRepair is the request for what an archive lost, whose damage Verify found. It
// has neither content nor PlanLost where all can be read. A repair mends one set: where
// several lost content, that is a *RequestError that names them, unless the archive was
// chosen by its sequence. Where an earlier set lost it, open opens that set, since the
// images that have the content are those of its plan.
func RequestRepair(ctx context.Context, have *archive.Archive, damage []archive.Damage, chosen bool, open func(sequence int) (*archive.Archive, error)) (*repair.Request, error) {
	owner, lost, err := lostOf(have, damage, chosen)
	if err != nil {
		return nil, err
	}
	if owner.Sequence != have.Newest().Sequence {
		if have, err = open(owner.Sequence); err != nil {
			return nil, err
		}
		defer func() { _ = have.Close() }() // only read from
	}
	return requestOf(ctx, have, lost)
}

// lostOf finds the set that lost content, and what it lost.
func lostOf(have *archive.Archive, damage []archive.Damage, chosen bool) (owner archive.BaseSet, lost []archive.EntryInfo, err error) {
	owner = have.Newest().BaseSet
	gone := map[digest.Digest]bool{}
	for _, d := range (&archive.DamageError{Damage: damage}).Lost() {
		gone[d] = true
	}
	of := map[archive.BaseSet][]archive.EntryInfo{}
	for e := range have.Entries() {
		if e.Content && !e.Repair && gone[e.Digest] && e.Part <= 1 {
			delete(gone, e.Digest) // the newest set that has it stands for all
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
	for _, s := range slices.SortedFunc(maps.Keys(of), func(a, b archive.BaseSet) int { return cmp.Compare(a.Sequence, b.Sequence) }) {
		names = append(names, fmt.Sprintf("--sequence %d", s.Sequence))
	}
	return owner, nil, requestf("run this once with each of "+strings.Join(names, ", "), "several archives lost content, and a request is for one")
}

// requestOf is the request for what the set lost that was opened.
func requestOf(ctx context.Context, have *archive.Archive, lost []archive.EntryInfo) (*repair.Request, error) {
	s := have.Newest()
	r := &repair.Request{Name: s.Series, Sequence: s.Sequence, Set: s.Set, Plan: have.PlanDigest(), Encrypted: s.Encrypted}
	p, err := ReadPlan(ctx, have)
	var planDamage *archive.DamageError
	switch {
	case errors.As(err, &planDamage):
		r.PlanLost = true
	case err != nil && len(lost) > 0:
		return nil, fmt.Errorf("finding the images that have what is lost: %w", err)
	case errors.Is(err, fs.ErrNotExist): // an earlier set has it, and lost nothing
	case err != nil:
		return nil, err
	}
	var digests []digest.Digest
	for _, e := range lost {
		digests = append(digests, e.Digest)
	}
	holders := map[digest.Digest][]*plan.Image{}
	if p != nil {
		if holders, err = mirror.Holders(p, digests); err != nil {
			return nil, err
		}
	}
	for _, e := range lost {
		c := repair.Content{Digest: e.Digest, Size: e.Whole, MediaType: e.MediaType, Sources: sourcesOf(holders[e.Digest])}
		c.Sources = c.Sources[:min(len(c.Sources), maxRequestSources)]
		if len(c.Sources) > 0 || p == nil { // what no image needs is not missed
			r.Content = append(r.Content, c)
		}
	}
	slices.SortFunc(r.Content, func(a, b repair.Content) int { return cmp.Compare(a.Digest, b.Digest) })
	return r, nil
}

// maxRequestSources is how many of the images that share a blob a request names: any
// of them will do.
const maxRequestSources = 20

// sourcesOf are the sources of images, sorted, each once; not nil.
func sourcesOf(images []*plan.Image) []string {
	sources := []string{}
	for _, img := range images {
		sources = append(sources, img.Source)
	}
	slices.Sort(sources)
	return slices.Compact(sources)
}
