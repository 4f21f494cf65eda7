package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// unreadHint is for records that cannot be read.
const unreadHint = "nothing can be deleted while a record cannot be read: what it needs is unknown; if the registry damaged it, restore it there, or delete its tag and mirror the image set again"

// readRevisions reads what the records of a mirror list. The session is nil if there is no workspace, and d if
// everything in the current revisions is wanted.
func readRevisions(ctx context.Context, e *env.Env, o *PruneOptions, s *workspace.Session, t *site.RegistryDestination, d *deletions) (_ *recordedRevisions, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil && (advice.Hint(err) == "" || errors.Is(err, remote.ErrNotFound)) {
			err = advice.Wrap(advice.Failure, err, unreadHint)
		}
	}()
	r := &recordedRevisions{env: e, to: t, records: mirror.NewImageSets(t.Client, t.RegistryPath), deletions: d, deletes: o.Yes || o.Plan != "", onlyMirror: o.OnlyMirror, forget: o.Forget, listed: o.listed, tagged: o.tagged}
	r.listed.begin()
	listed, err := setrecord.List(ctx, r.records)
	if err != nil {
		return nil, err
	}
	now := r.now(o)
	names := map[string]bool{}
	for i := range listed {
		revisions, err := setrecord.History(ctx, r.records, &listed[i])
		if err != nil {
			return nil, err
		}
		set := revisionsOfSet{revisions: revisions, wanted: wantedRevisions(revisions, o.KeepLast, o.OlderThan, now), partly: map[int]func(*plan.Image) bool{}}
		if set.forgotten = o.Forget != "" && set.current().Name == o.Forget; set.forgotten {
			set.wanted = make([]bool, len(revisions))
		}
		names[set.current().Name] = true
		for j := range revisions {
			r.tags = append(r.tags, revisions[j].Tag())
		}
		r.sets = append(r.sets, set)
	}
	if err := r.readPending(ctx); err != nil {
		return nil, advice.Wrap(advice.Failure, err, "nothing can be deleted while it cannot be read what runs pushed that did not end; if the registry damaged it, restore it there, or delete its tag and mirror the image set again")
	}
	for _, run := range r.pending {
		names[run.Name] = true
	}
	if err := r.findForgotten(s, names); err != nil {
		return nil, err
	}
	if len(names) == 0 && r.listed == nil {
		return nil, env.InputHint("run gantry mirror to it once: it records what an image set needs, and nothing is deleted without that", "the mirror %s has no records of image sets", t)
	}
	if o.Forget != "" && !names[o.Forget] {
		return nil, unknownSet(t, o.Forget, names)
	}
	if s != nil {
		if err := checkRecorded(s, t, names); err != nil {
			return nil, err
		}
	}
	for i := range r.sets {
		if err := r.keepPublished(ctx, &r.sets[i]); err != nil {
			return nil, err
		}
	}
	if err := r.addPending(ctx); err != nil {
		return nil, err
	}
	for i := range r.sets {
		if err := r.addSet(ctx, &r.sets[i]); err != nil {
			return nil, err
		}
	}
	for i := range r.sets {
		r.addRecord(&r.sets[i])
	}
	return r, r.checkForgotten()
}

// checkRecorded returns an error if the workspace knows an image set of the mirror that the mirror has no
// record of: what it needs would be deleted. An image set that the mirror had a record of was forgotten since.
func checkRecorded(s *workspace.Session, t *site.RegistryDestination, names map[string]bool) error {
	records, err := s.RecordNames(t.Key())
	if err != nil {
		return err
	}
	before, err := site.RecordedSets(s, t)
	if err != nil {
		return err
	}
	for _, name := range records {
		if _, forgotten := before[name]; !names[name] && !forgotten {
			return env.InputHint("run gantry mirror for it once more, so that the mirror has the record; if it was given up, set Options.Forget to its name", "the workspace knows the image set %q in %s, and the mirror has no record of it", name, t)
		}
	}
	return nil
}

// addSet adds what the revisions of an image set list.
func (r *recordedRevisions) addSet(ctx context.Context, set *revisionsOfSet) error {
	var err error
	last := len(set.revisions) - 1
	smaller := r.listed.notRecorded(set.current().Name)
	if smaller != nil {
		set.wanted[last] = false
		last = -1
	}
	for i := range set.revisions {
		revision := &set.revisions[i]
		if i+1 < len(set.revisions) && set.revisions[i+1].Plan == revision.Plan && set.revisions[i+1].MaxNestedPaths == revision.MaxNestedPaths && !set.wanted[i] && set.partly[i] == nil {
			continue // only the record changed
		}
		p, names, err := r.readPlan(ctx, revision)
		if err != nil {
			return err
		}
		if !set.wanted[i] && len(r.tagged) > 0 {
			if set.partly[i], err = r.keepTagged(p, names, set.partly[i]); err != nil {
				return err
			}
		}
		want := set.partly[i]
		switch {
		case set.forgotten:
			want = func(*plan.Image) bool { return false }
		case i == last && r.listed != nil:
			r.listed.addCurrent(revision.Name, p, names)
			want = nil
		case i == last:
			if want, err = r.deletions.add(revision, p, names); err != nil {
				return err
			}
		case set.wanted[i]:
			want = nil
		case r.listed != nil:
			if want, err = r.listed.stays(p, names, want); err != nil {
				return err
			}
			p = r.listed.untag(p, names)
		case want == nil:
			want = func(*plan.Image) bool { return false }
		}
		if err := r.all.Add(prune.Revision{ImageSet: revision.Name, Number: revision.Number}, p, names, want); err != nil {
			return fmt.Errorf("reading revision %d of the image set %q: %w", revision.Number, revision.Name, err)
		}
	}
	if smaller == nil {
		return nil
	}
	next := prune.Revision{ImageSet: set.current().Name, Number: set.current().Number + 1}
	path := r.to.RegistryPath
	path.MaxNestedPaths = set.current().MaxNestedPaths
	names, err := path.Repositories(smaller)
	if err != nil {
		return err
	}
	r.listed.addCurrent(next.ImageSet, smaller, names)
	return r.all.Add(next, smaller, names, nil)
}

// addRecord adds the content that only the record of an image set lists, since it is older than the records
// in the mirror.
func (r *recordedRevisions) addRecord(set *revisionsOfSet) {
	revision := prune.Revision{ImageSet: set.current().Name}
	add := func(ref, source reference.Reference, name string) {
		ref = site.InMirror(ref, source)
		if recorded, _ := r.all.Has(ref); !recorded && ref.Digest != "" {
			r.all.AddImage(revision, ref, name, r.listed != nil && !r.listed.places[imagePlace{ref.Path, ref.Digest}])
		}
	}
	for i := range set.record.Images {
		img := &set.record.Images[i]
		add(img.Mirror, img.Source, img.Source.String())
	}
	for i := range set.record.Releases {
		release := &set.record.Releases[i]
		add(release.Mirror, reference.Reference{}, release.Source)
	}
	if at := set.record.GraphData; at != nil {
		add(*at, reference.Reference{}, at.String())
	}
}

// unneeded returns the images in the records that no revision needs.
func (r *recordedRevisions) unneeded() (all []reference.Reference) {
	for i := range r.sets {
		for j := range r.sets[i].record.Images {
			img := &r.sets[i].record.Images[j]
			ref := site.InMirror(img.Mirror, img.Source)
			if recorded, wanted := r.all.Has(ref); recorded && !wanted {
				all = append(all, ref)
			}
		}
	}
	return all
}

// accept returns an error unless a saved plan was made from the present records of this mirror.
func (r *recordedRevisions) accept(saved *prune.DeletionPlan, o *PruneOptions) error {
	again := fmt.Sprintf("make a new one with gantry prune %s, and review it", r.to)
	switch {
	case saved.Mirror != r.to.String():
		return env.InputHint(again, "the plan %s is for the mirror %s and not for %s", o.Plan, saved.Mirror, r.to)
	case !slices.Equal(saved.Records, r.tagsBut(saved.Records)):
		return env.InputHint(again, "the records of the mirror changed since the plan %s was made", o.Plan)
	}
	return nil
}

// tagsBut returns the tags of all revisions and pending runs, without those of revisions that are not known and have the plan
// of the one before: an interrupted prune wrote them.
func (r *recordedRevisions) tagsBut(known []string) []string {
	tags := slices.Clone(r.tags)
	for i := range r.sets {
		revisions := r.sets[i].revisions
		for j := 1; j < len(revisions); j++ {
			if tag := revisions[j].Tag(); revisions[j].Plan == revisions[j-1].Plan && !slices.Contains(known, tag) {
				tags = slices.DeleteFunc(tags, func(t string) bool { return t == tag })
			}
		}
	}
	return tags
}

// plan returns what can be deleted.
func (r *recordedRevisions) plan(ctx context.Context) (*prune.DeletionPlan, error) {
	unneeded := r.unneeded()
	if err := r.addOtherMirrors(ctx); err != nil {
		return nil, err
	}
	r.others = map[imagePlace]bool{}
	for _, ref := range unneeded {
		if _, wanted := r.all.Has(ref); wanted {
			r.others[imagePlace{ref.Path, ref.Digest}] = true
		}
	}
	o, stop := r.options("searching the mirror")
	defer stop()
	p, err := prune.Make(ctx, &r.all, &prune.Registry{Client: r.to.Client, Host: r.to.Host}, o)
	if err != nil {
		return nil, err
	}
	p.Mirror, p.Records, p.Forgets = r.to.String(), r.tags, r.forget
	p.Revisions = r.removable(func(revision prune.Revision) bool {
		return slices.ContainsFunc(p.Kept, func(k prune.Kept) bool {
			// What stays of a forgotten image set because others refer to it is theirs, unless that is unknown.
			return k.LastWanted == revision && (revision.ImageSet != r.forget || k.Digest == "" && k.Tag == "")
		})
	})
	return p, nil
}

// removable returns the tags of revisions that are not wanted, unless needed says that they show what is left. A
// forgotten image set has all of its revisions until none is needed.
func (r *recordedRevisions) removable(needed func(prune.Revision) bool) []string {
	var tags []string
	for i := range r.sets {
		set := &r.sets[i]
		var own []string
		for j := range set.revisions {
			revision := &set.revisions[j]
			if !set.wanted[j] && set.partly[j] == nil && !needed(prune.Revision{ImageSet: revision.Name, Number: revision.Number}) {
				own = append(own, revision.Tag())
			}
		}
		switch {
		case !set.forgotten:
			tags = append(tags, own...)
		case len(own) == len(set.revisions) && !needed(prune.Revision{ImageSet: set.current().Name}):
			tags = append(append(tags, own...), setrecord.Tag(set.current().Name))
		}
	}
	for _, run := range r.pending {
		if !run.wanted && run.partly == nil && !needed(run.revision()) {
			tags = append(tags, run.Tag())
		}
	}
	slices.Sort(tags)
	return tags
}
