package removal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/lease"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// addOtherMirrors adds what other mirrors on the registry list, if they may have repositories in common with
// this one: their prefixes contain this one, or are below it. All of their revisions are wanted. It is an error if this is
// not known for certain.
func (r *recordedRevisions) addOtherMirrors(ctx context.Context) error {
	prefixes := map[string]bool{}
	for _, path := range append(r.all.Unwanted(), r.records.Repository().Path) {
		for i, c := range path {
			if c == '/' {
				prefixes[path[:i]] = true
			}
		}
		prefixes[""] = true
	}
	limits := []int{0, r.to.MaxNestedPaths}
	if r.to.MaxNestedPaths == 0 {
		limits[1] = 1 // the limit that changes the name of the records of a mirror without a prefix
	}
	seen := map[reference.Reference]bool{r.records.Repository(): true}
	for _, prefix := range slices.Sorted(maps.Keys(prefixes)) {
		for _, limit := range limits {
			at := *r.to
			at.Prefix, at.MaxNestedPaths = prefix, limit
			other := &recordedRevisions{env: r.env, to: &at, records: mirror.NewImageSets(r.to.Client, at.RegistryPath)}
			if seen[other.records.Repository()] {
				continue
			}
			seen[other.records.Repository()] = true
			if err := r.addOtherMirror(ctx, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// addOtherMirror adds what another mirror lists. If it may be changed by a run, nothing is deleted.
func (r *recordedRevisions) addOtherMirror(ctx context.Context, other *recordedRevisions) error {
	if r.deletes {
		repository, err := other.to.HeldByOther(ctx)
		if err = r.adviseOther(ctx, repository, err); err != nil {
			return err
		}
	}
	sets, err := setrecord.List(ctx, other.records)
	if err = r.adviseOther(ctx, other.records.Repository(), err); err != nil {
		return err
	}
	for i := range sets {
		if err := r.addOther(ctx, other, &sets[i]); err != nil {
			return otherUnread(other, err)
		}
	}
	err = other.readPending(ctx)
	if errors.Is(err, remote.ErrDenied) {
		return r.adviseOther(ctx, other.records.Repository(), err)
	}
	if err != nil {
		return otherUnread(other, err)
	}
	for _, run := range other.pending {
		if _, err := r.addOtherPlan(ctx, other, run.Revision(), run.revision(), run.wanted); err != nil {
			return otherUnread(other, err)
		}
	}
	return nil
}

// addOtherPlan adds the plan of a revision of another mirror, and returns it. moves means that a run may move its tags.
func (r *recordedRevisions) addOtherPlan(ctx context.Context, other *recordedRevisions, revision *setrecord.Revision, as prune.Revision, moves bool) (*plan.Plan, error) {
	p, names, err := other.readPlan(ctx, revision)
	if err != nil {
		return nil, err
	}
	as.ImageSet = other.to.String() + " " + as.ImageSet
	if moves {
		return p, r.all.Add(as, p, names, nil)
	}
	return p, r.all.AddEarlier(as, p, names)
}

// otherUnread returns the error of a record of another mirror that cannot be read.
func otherUnread(other *recordedRevisions, err error) error {
	return advice.Wrap(advice.Failure, fmt.Errorf("reading the records of the mirror %s: %w", other.to, err), "nothing can be deleted while a record of a mirror that may have repositories in common with this one cannot be read")
}

// adviseOther returns the error of reading a repository of another mirror, if any, with a hint. That the
// credentials do not permit it is no error if the user says that there is no such mirror.
func (r *recordedRevisions) adviseOther(ctx context.Context, repository reference.Reference, err error) error {
	var held *lease.HeldError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &held), site.Fatal(err):
		return err
	case errors.Is(err, remote.ErrDenied) && r.onlyMirror:
		return nil
	case errors.Is(err, remote.ErrDenied):
		return advice.New(advice.Unauthorized, "use credentials that may pull from it; if the registry has no such mirror, set Options.OnlyMirror", "another mirror on the registry may need what would be deleted, and its repository %s cannot be read: %w", repository.Name(), err)
	}
	return advice.Wrap(advice.Failure, fmt.Errorf("reading the repository %s of another mirror: %w", repository.Name(), err), "nothing can be deleted while it is unknown what other mirrors on the registry need; run again")
}

// addOther adds all revisions of an image set of another mirror.
func (r *recordedRevisions) addOther(ctx context.Context, other *recordedRevisions, set *setrecord.Listed) error {
	revisions, err := setrecord.History(ctx, other.records, set)
	if err != nil {
		return err
	}
	other.sets = append(other.sets, revisionsOfSet{revisions: revisions})
	moves := true // by the current revision, or by a run that finds what is missing at its source now
	for i := range slices.Backward(revisions) {
		revision := &revisions[i]
		p, err := r.addOtherPlan(ctx, other, revision, prune.Revision{ImageSet: revision.Name, Number: revision.Number}, moves)
		if err != nil {
			return err
		}
		if i == len(revisions)-1 {
			moves = len(p.Missing) > 0
		}
	}
	record, err := setrecord.ReadRecord(ctx, other.records, &revisions[len(revisions)-1])
	if err != nil {
		return err
	}
	for i := range record.Images {
		img := &record.Images[i]
		if ref := site.InMirror(img.Mirror, img.Source); ref.Digest != "" {
			r.all.AddOtherImage(prune.Revision{ImageSet: other.to.String()}, ref, img.Source.String(), moves)
		}
	}
	return nil
}
