package removal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// execute deletes what a plan lists, and then the records that only list what is gone. all is the plan with
// everything that could be deleted.
func (r *recordedRevisions) execute(ctx context.Context, s *workspace.Session, p, all *prune.DeletionPlan, result *PruneResult) error {
	deletes, err := r.probe(ctx)
	if err != nil {
		result.Refused = true
		return err
	}
	if !deletes.Tags {
		p.KeepTags("the registry cannot delete a tag without its manifest")
	}
	replaced, err := r.writeWithout(ctx, s, r.listedByPlans(p))
	if err != nil {
		return err
	}
	o, stop := r.options("deleting")
	o.TagsFirst = deletes.KeepsTags
	report, err := prune.Execute(ctx, p, &prune.Registry{Client: r.to.Client, Host: r.to.Host}, deletes.Tags, o)
	stop()
	if result.Deleted = report; err != nil {
		return err
	}
	remains := p.Remains(all, report)
	again, err := r.writeWithout(ctx, s, func(ref reference.Reference) bool {
		recorded, wanted := r.all.Has(ref)
		return recorded && !wanted && !remains(ref) || r.others[imagePlace{ref.Path, ref.Digest}]
	})
	if err != nil {
		return err
	}
	tags := slices.DeleteFunc(slices.Concat(slices.Collect(maps.Values(replaced)), slices.Collect(maps.Values(again))), func(tag string) bool {
		return slices.ContainsFunc(r.sets, func(set revisionsOfSet) bool { return set.current().Tag() == tag })
	})
	changed := report.Manifests+report.Tags+len(tags) > 0
	failed := func(revision prune.Revision) bool {
		return slices.ContainsFunc(report.Failed, func(f prune.Failure) bool {
			return f.LastWanted == revision || revision.ImageSet == r.forget && f.LastWanted.ImageSet == r.forget && r.forget != ""
		})
	}
	for _, tag := range r.removable(failed) {
		planned := tag
		for _, renamed := range []map[string]string{again, replaced} {
			planned = cmp.Or(renamed[planned], planned)
		}
		if slices.Contains(p.Revisions, planned) {
			tags = append(tags, tag)
		}
	}
	if err := r.deleteRecords(ctx, tags, deletes); err != nil {
		return err
	}
	if r.forget != "" && slices.Contains(tags, setrecord.Tag(r.forget)) {
		if err := r.dropForgotten(s); err != nil {
			return err
		}
		result.Forgotten.Done, changed = true, true
	}
	if changed {
		if result.Resources, err = knownResources(ctx, s, r.to, r.forget != ""); err != nil {
			return err
		}
	}
	if len(report.Failed) > 0 {
		e := &PruneError{failed: len(report.Failed)}
		for _, f := range report.Failed {
			e.reasons = append(e.reasons, f.Err)
		}
		return e
	}
	return nil
}

// listedByPlans returns a function that reports whether a plan of deletions has an image that the plan of a revision lists. The
// records leave these out before they are deleted: runs trust a list of tags for what a record has, and a deletion
// that is interrupted in the registry leaves a tag without its manifest. What only a record lists stays in it until it
// is deleted, since nothing else shows it.
func (r *recordedRevisions) listedByPlans(p *prune.DeletionPlan) func(reference.Reference) bool {
	listed := map[imagePlace]bool{}
	for i := range p.Manifests {
		if m := &p.Manifests[i]; m.LastWanted.Number > 0 {
			listed[imagePlace{m.Repository, m.Digest}] = true
		}
	}
	return func(ref reference.Reference) bool { return listed[imagePlace{ref.Path, ref.Digest}] }
}

// writeWithout writes the records of image sets again that list what is gone, without that. It returns the tags of
// revisions that they replace, by the tag of the new one. The plans stay.
func (r *recordedRevisions) writeWithout(ctx context.Context, s *workspace.Session, gone func(reference.Reference) bool) (replaced map[string]string, err error) {
	replaced = map[string]string{}
	for i := range r.sets {
		set := &r.sets[i]
		before := *set.current()
		written, err := r.withoutGone(ctx, s, set, gone)
		if err != nil {
			return nil, err
		}
		if now := set.current().Tag(); written && now != before.Tag() {
			replaced[now] = before.Tag()
		}
	}
	return replaced, nil
}

// withoutGone writes the record of an image set again, without what is gone from the mirror. What could not be deleted
// returns to the record.
func (r *recordedRevisions) withoutGone(ctx context.Context, s *workspace.Session, set *revisionsOfSet, gone func(reference.Reference) bool) (written bool, err error) {
	record := *set.record
	record.Images = slices.DeleteFunc(slices.Clone(record.Images), func(img resources.Image) bool { return gone(site.InMirror(img.Mirror, img.Source)) })
	record.Releases = slices.DeleteFunc(slices.Clone(record.Releases), func(release state.Release) bool { return gone(release.Mirror) })
	if record.GraphData != nil && gone(*record.GraphData) {
		record.GraphData = nil
	}
	has := cmp.Or(set.written, set.record)
	if slices.Equal(record.Images, has.Images) && len(record.Releases) == len(has.Releases) && record.GraphData == has.GraphData {
		return false, nil
	}
	before := set.current()
	if set.written == nil {
		set.first = *before
	} else if slices.Equal(record.Images, set.record.Images) && len(record.Releases) == len(set.record.Releases) && record.GraphData == set.record.GraphData {
		before = &set.first // nothing was deleted, and the revision is the one before
	}
	now := *before // who mirrored the image set, when, and from what
	revision, err := setrecord.Write(ctx, r.records, s.Sources.Cache, now, before, &record, func(w io.Writer) error {
		text, err := setrecord.OpenPlan(ctx, r.records, before)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, text)
		return errors.Join(err, text.Close())
	})
	if err != nil {
		return false, err
	}
	set.revisions[len(set.revisions)-1], set.written = *revision, &record
	return true, s.SaveRecord(r.to.Key(), revision.Name, &record)
}

// deleteReplaced deletes the manifests of records that have no tag, since later runs replaced them. They would keep the
// plans of deleted records.
func (r *recordedRevisions) deleteReplaced(ctx context.Context, registry *prune.Registry, tagged map[digest.Digest][]string) error {
	for i := range r.sets {
		replaced, err := setrecord.Replaced(ctx, r.sets[i].revisions, r.records.ManifestOf)
		if err != nil {
			return err
		}
		for _, d := range replaced {
			if len(tagged[d]) > 0 {
				continue
			}
			if _, err := registry.DeleteManifest(ctx, r.records.Repository().Path, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteRecords deletes revisions by their tags, and the manifests of records without tags. A manifest that has other tags, too, is deleted only if none of
// them stays.
func (r *recordedRevisions) deleteRecords(ctx context.Context, tags []string, deletes remote.Deletion) error {
	registry := &prune.Registry{Client: r.to.Client, Host: r.to.Host}
	repository := r.records.Repository().Path
	all, err := registry.Tags(ctx, repository)
	if err != nil {
		return err
	}
	manifests := map[digest.Digest][]string{}
	for _, tag := range all {
		d, err := registry.Resolve(ctx, repository, tag)
		if err != nil {
			return err
		}
		manifests[d] = append(manifests[d], tag)
	}
	if err := r.deleteReplaced(ctx, registry, manifests); err != nil || len(tags) == 0 {
		return err
	}
	for _, d := range slices.Sorted(maps.Keys(manifests)) {
		var stay, leave []string
		for _, tag := range manifests[d] {
			// A registry that was interrupted after it had deleted a manifest has its tags still.
			if d == "" || slices.Contains(tags, tag) {
				leave = append(leave, tag)
			} else {
				stay = append(stay, tag)
			}
		}
		switch {
		case len(leave) == 0:
		case len(stay) > 0 && deletes.Tags, d == "" && deletes.Tags, deletes.KeepsTags:
			for _, tag := range leave {
				_, failed := registry.DeleteTag(ctx, repository, tag, d)
				err = errors.Join(err, failed)
			}
		}
		if err == nil && len(leave) > 0 && len(stay) == 0 && d != "" {
			_, err = registry.DeleteManifest(ctx, repository, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// probe finds out whether the registry deletes content, with an artifact in the repository of records.
func (r *recordedRevisions) probe(ctx context.Context) (deletes remote.Deletion, err error) {
	deletes, err = r.to.Client.ProbeDeletion(ctx, r.to.OwnRepository(setrecord.Repository))
	if err != nil {
		return deletes, refuses(r.to, fmt.Errorf("finding out whether the registry deletes content: %w", err))
	}
	return deletes, nil
}
