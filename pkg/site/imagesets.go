package site

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// Several hosts may mirror several image sets to one registry. The registry has a record of each image set, in
// a repository of its own (package setrecord). At the beginning of a run, the workspace gets copies of all
// records that changed; everything that reads the records of a mirror then knows all its image sets, also
// without a connection. After the copy, the run writes its own record to the workspace and to the registry.

// ImageSets returns the repository with the records of the mirror.
func (t *RegistryDestination) ImageSets() *mirror.ImageSets {
	return mirror.NewImageSets(t.Client, t.RegistryPath)
}

// A RecordedSet is an image set that the mirror itself has a record of, and the workspace a copy.
type RecordedSet struct {
	setrecord.Revision
	// elsewhere reports whether another workspace wrote it.
	elsewhere bool
}

// lastRun returns the last run of the current revision: another workspace may have recorded runs that began none.
func (r RecordedSet) lastRun(ctx context.Context, t *RegistryDestination) *setrecord.Revision {
	if last, err := setrecord.Last(ctx, t.ImageSets(), r.Name); err == nil && last.Tag() == r.Tag() {
		return last
	}
	return &r.Revision
}

// RecordedSets returns the image sets that the mirror itself had records of when it was last asked, by name.
func RecordedSets(s *workspace.Session, t *RegistryDestination) (map[string]RecordedSet, error) {
	saved, err := s.RecordedSets(t.Key())
	if err != nil {
		return nil, err
	}
	sets := map[string]RecordedSet{}
	for name, r := range saved {
		revision, err := setrecord.ParseRevision(r.Revision)
		if err == nil && revision.Name == name { // else it is read again
			sets[name] = RecordedSet{Revision: *revision, elsewhere: r.Elsewhere}
		}
	}
	return sets, nil
}

// SaveRecordedSets keeps the records of a mirror in the workspace, by image set.
func SaveRecordedSets(s *workspace.Session, t *RegistryDestination, sets map[string]RecordedSet) error {
	saved := map[string]state.RecordedSet{}
	for name, set := range sets {
		revision, err := json.Marshal(&set.Revision)
		if err != nil {
			return fmt.Errorf("keeping the records of the mirror: %w", err)
		}
		saved[name] = state.RecordedSet{Revision: revision, Elsewhere: set.elsewhere}
	}
	return s.SaveRecordedSets(t.Key(), saved)
}

// KnowRecords sets the records that the mirror itself has, once. Without a connection, they are those of the last run.
func KnowRecords(ctx context.Context, s *workspace.Session, t *RegistryDestination, offline bool) (err error) {
	if t.Recorded != nil || t.RecordProblem != nil {
		return nil //nolint:nilerr // SyncRecords sent the warning
	}
	if !offline {
		return SyncRecords(ctx, s, t)
	}
	t.Recorded, err = RecordedSets(s, t)
	return err
}

// SyncRecords copies the records of the mirror that changed to the workspace. A mirror whose records cannot be
// read is not an error: the run continues with what the workspace has, and writes no record.
func SyncRecords(ctx context.Context, s *workspace.Session, t *RegistryDestination) error {
	repository := t.ImageSets()
	listed, err := setrecord.List(ctx, repository)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.RecordProblem = err
		s.Env.Warnf("the records of image sets in %s cannot be read, so this run knows only those of the workspace, and records nothing in the mirror, and gantry prune on another host deletes what it mirrors if an image set there had it before: %v", repository.Repository().Name(), err)
		return nil
	}
	before, err := RecordedSets(s, t)
	if err != nil {
		return err
	}
	copied, err := s.RecordNames(t.Key())
	if err != nil {
		return err
	}
	now, warned := map[string]RecordedSet{}, t.unreadable
	t.unreadable = nil
	for i := range listed {
		set, err := syncSet(ctx, s, t, &listed[i], before, copied)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if !slices.Contains(warned, listed[i].Tag) {
				s.Env.Warnf("a record of the mirror is not used: %v", err)
			}
			t.unreadable = append(t.unreadable, listed[i].Tag)
			set = setOf(before, listed[i].Tag)
		}
		if set != nil {
			now[set.Name] = *set
		}
	}
	if err := forgetRecords(s, t, before, now); err != nil {
		return err
	}
	t.Recorded = now
	return SaveRecordedSets(s, t, now)
}

// setOf returns the image set with a tag; nil if there is none.
func setOf(sets map[string]RecordedSet, tag string) *RecordedSet {
	for name, set := range sets {
		if setrecord.Tag(name) == tag {
			return &set
		}
	}
	return nil
}

// syncSet copies the record of an image set to the workspace if it changed.
func syncSet(ctx context.Context, s *workspace.Session, t *RegistryDestination, listed *setrecord.Listed, before map[string]RecordedSet, copied []string) (*RecordedSet, error) {
	have := setOf(before, listed.Tag)
	hasCopy := have != nil && slices.Contains(copied, have.Name)
	if hasCopy && listed.Has(&have.Revision) {
		return have, nil
	}
	repository := t.ImageSets()
	revision, err := setrecord.CurrentOf(ctx, repository, listed)
	if err != nil {
		return nil, err
	}
	set := &RecordedSet{Revision: *revision, elsewhere: true}
	if have != nil {
		if set.elsewhere = have.elsewhere; hasCopy && have.Tag() == revision.Tag() {
			return set, nil
		}
	}
	record, err := setrecord.ReadRecord(ctx, repository, revision)
	if err != nil {
		return nil, err
	}
	mine, _, err := Records(s, t, revision.Name)
	if err != nil {
		return nil, err
	}
	if have == nil && mine != nil { // an older version wrote it, or the mirror could not be written to
		record.KeepImages(mine)
		record.KeepReleases(mine)
		record.KeepNames(mine)
		set.elsewhere = false
	}
	return set, s.SaveRecord(t.Key(), revision.Name, record)
}

// forgetRecords removes the records from the workspace that the mirror had and no longer has. If it has none
// at all, its storage was probably lost: those that this workspace wrote stay until their next run.
func forgetRecords(s *workspace.Session, t *RegistryDestination, before, now map[string]RecordedSet) error {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := now[name]; ok || len(now) == 0 && !before[name].elsewhere {
			continue
		}
		if err := s.RemoveRecord(t.Key(), name); err != nil {
			return err
		}
		s.Env.Noticef("the mirror no longer has the image set %q, since it was given up or the mirror lost the record, so its cluster resources are removed; its next run records it anew", name)
	}
	return nil
}

// An ImageSetRecord says what a run recorded in the mirror itself.
type ImageSetRecord struct {
	// Repository is the repository with the records, and Name the image set.
	Repository string `json:"repository"`
	Name       string `json:"name"`
	// Revision is the number of the revision, NewRevision whether it began with this run, and Runs how many runs
	// the image set had. They are 0 if nothing was recorded.
	Revision    int  `json:"revision,omitempty"`
	NewRevision bool `json:"newRevision,omitempty"`
	Runs        int  `json:"runs,omitempty"`
	// Deprecated: Turn and NewTurn are Revision and NewRevision under the keys of earlier versions.
	Turn    int  `json:"turn,omitempty"`
	NewTurn bool `json:"newTurn,omitempty"`
	// Problem is the reason why nothing was recorded, usually "". Other hosts then do not see what the
	// run changed.
	Problem string `json:"problem,omitempty"`
}

// RecordRun writes the record of a run to the mirror. That this fails is no error of the run, whose content
// is complete.
func RecordRun(ctx context.Context, s *workspace.Session, t *RegistryDestination, run setrecord.Revision, record *state.Record, plan planWriter) (*ImageSetRecord, error) {
	repository := t.ImageSets()
	out := &ImageSetRecord{Repository: repository.Repository().Name(), Name: run.Name}
	if t.RecordProblem != nil {
		out.Problem = t.RecordProblem.Error() // SyncRecords sent the warning
		return out, nil                       //nolint:nilerr // it is in the result
	}
	if slices.Contains(t.unreadable, setrecord.Tag(run.Name)) {
		out.Problem = "the present record of the image set cannot be read"
		return out, nil
	}
	var before *setrecord.Revision
	own, known := t.Recorded[run.Name]
	if known {
		before = own.lastRun(ctx, t) // Prune finds the manifests of the runs before through this one.
		if before.Host != run.Host && before.Configuration != run.Configuration && before.Configuration != "" && run.Configuration != "" {
			s.Env.Noticef("the image set %q was last mirrored by %s from another configuration; if both are in use, set Options.Name to another name in one of them", run.Name, Owner(before))
		}
	}
	revision, err := setrecord.Write(ctx, repository, s.Sources.Cache, run, before, record, plan)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		out.Problem = err.Error()
		s.Env.Warnf("the run is not recorded in the mirror, so other hosts do not see it, and gantry prune on another host deletes what it mirrored if an image set there had it before; permit pushes to %s, and run again: %v", out.Repository, err)
		return out, nil
	}
	out.Revision, out.Runs, out.NewRevision = revision.Number, revision.Runs, before == nil || before.Number != revision.Number
	out.Turn, out.NewTurn = out.Revision, out.NewRevision
	RemoveAnnounced(ctx, s, t, revision)
	t.Recorded[run.Name] = RecordedSet{Revision: *revision}
	return out, SaveRecordedSets(s, t, t.Recorded)
}

// SharesRepository reports whether a plan has a repository of the mirror in common with a record, which may be
// empty.
func (t *RegistryDestination) SharesRepository(p *plan.Plan, r *state.Record) bool {
	planned := map[string]bool{}
	for i := range p.Images {
		planned[t.Names[p.Images[i].Repository].Path] = true
	}
	return len(r.Images)+len(r.Catalogs)+len(r.Releases) == 0 ||
		slices.ContainsFunc(r.Images, func(img resources.Image) bool { return planned[img.Mirror.Path] }) ||
		slices.ContainsFunc(r.Catalogs, func(c resources.Catalog) bool { return planned[c.Mirror.Path] }) ||
		slices.ContainsFunc(r.Releases, func(r state.Release) bool { return planned[r.Mirror.Path] })
}

// OtherOwner describes who mirrored an image set to the mirror from another workspace: "ci@builder"; "" if it
// was this workspace.
func (t *RegistryDestination) OtherOwner(name string) string {
	set, ok := t.Recorded[name]
	if !ok || !set.elsewhere {
		return ""
	}
	return Owner(&set.Revision)
}

// Owner returns "user@host" as far as the record has them.
func Owner(t *setrecord.Revision) string {
	if t.User == "" && t.Host == "" {
		return "another host"
	}
	return strings.Trim(t.User+"@"+t.Host, "@")
}
