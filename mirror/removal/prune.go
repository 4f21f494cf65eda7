package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// PruneOptions says what Prune removes from a mirror. Mirror is required.
type PruneOptions struct {
	Env *env.Env
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string
	// Workspace is the folder of the workspace, whose records and cluster resources are changed, too. The
	// default is env.DefaultWorkspace.
	Workspace string
	// MaxNestedPaths is how many path components the registry allows, as in the runs that mirrored to it; 0
	// is no limit.
	MaxNestedPaths int
	// Yes deletes. Otherwise, Prune only returns the plan.
	Yes bool
	// Plan is the file of a plan that Save wrote. What it lists is deleted, unless something needs it by
	// now. If the records of the mirror changed since, it is an error.
	Plan string
	// Save is the file that the plan is written to.
	Save string
	// KeepLast is how many revisions of each image set are needed, the current one included; 0 means 1. A revision is
	// what an image set had in the mirror until it changed.
	KeepLast int
	// OlderThan keeps what an image set needed at any time in this period, by the clock of the registry or of this
	// host, whichever shows the earlier time.
	OlderThan time.Duration
	// Forget is an image set that was given up: what only it needed is no longer needed, and its
	// records are deleted last. It is part of a plan that was saved.
	Forget string
	// OnlyMirror says that the registry has no other mirror whose prefix contains the one of this mirror or is
	// below it. Repositories of records that the credentials do not permit to read are then ignored.
	OnlyMirror bool
	// Now returns the time of this host. The default is time.Now.
	Now func() time.Time
	// listed are the images of Delete; nil for Prune.
	listed *listedImages
	// tagged are catalogs and releases that stay with what they name, although no revision needs them.
	tagged map[imagePlace]bool
}

// A PruneResult is the result of Prune. Its JSON is what gantry prune --output json prints.
type PruneResult struct {
	Version int `json:"version"`
	// Plan is what would be deleted, or what was to be deleted.
	Plan *prune.DeletionPlan `json:"plan"`
	// ImageSets are the image sets whose records were read, sorted. What others need is unknown.
	ImageSets []string `json:"imageSets,omitempty"`
	// Forgotten is the image set of PruneOptions.Forget; nil without it.
	Forgotten *ForgottenSet `json:"forgotten,omitempty"`
	// Refused means that the deletion was requested, and that the registry does not delete, or did not
	// respond when it was asked.
	Refused bool `json:"refused,omitempty"`
	// Deleted is what was deleted; nil if nothing was tried.
	Deleted *prune.Report `json:"deleted,omitempty"`
	// Resources are the cluster resources that were written again; nil if the workspace has none, or
	// nothing was deleted that they may name.
	Resources *cluster.ResourceFiles `json:"resources,omitempty"`
	// Saved is the file that the plan was written to, or "".
	Saved string `json:"saved,omitempty"`
}

// check returns an error if options contradict each other.
func (o *PruneOptions) check() error {
	switch {
	case o.Plan != "" && (o.KeepLast != 0 || o.OlderThan != 0):
		return env.InputHint("set them when the plan is made", "Options.KeepLast and Options.OlderThan are part of the plan")
	case o.Plan != "" && o.Save != "":
		return env.InputHint("leave one of them out", "Options.Plan and Options.Save")
	case o.KeepLast < 0:
		return env.InputHint("use a number above 0", "Options.KeepLast %d", o.KeepLast)
	case o.OlderThan < 0:
		return env.InputHint("use a duration such as 720h", "Options.OlderThan %s", o.OlderThan)
	}
	return nil
}

// Prune deletes what no image set that the mirror has a record of needs. Without Yes and Plan, it deletes
// nothing and returns what it would delete. Content that no record lists is not deleted. If some content
// could not be deleted, Prune returns the result and an error of kind advice.Partial.
func Prune(ctx context.Context, o PruneOptions) (*PruneResult, error) {
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	if err := o.check(); err != nil {
		return nil, err
	}
	t, err := site.OpenMirror(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, err
	}
	var saved *prune.DeletionPlan
	if o.Plan != "" {
		if saved, err = readDeletionPlan(o.Plan); err != nil {
			return nil, err
		}
		if err := o.checkSaved(saved.Forgets); err != nil {
			return nil, err
		}
		o.Forget = saved.Forgets
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	execute := o.Yes || saved != nil
	var s *workspace.Session
	if dir := env.WorkspaceDir(o.Workspace); execute || env.IsFolder(dir) {
		if s, err = workspace.OpenSession(e, dir); err != nil {
			return nil, err
		}
		defer s.Release()
	}
	if execute {
		leased, release, err := site.Lease(ctx, s, t)
		if err != nil {
			return nil, err
		}
		defer release()
		if err := s.BeginAudit("prune", o.Mirror, ""); err != nil {
			return nil, err
		}
		result, err := pruneMirror(leased, e, &o, s, t, saved)
		result.addFormerKeys()
		return result, auditDeletions(leased, s, result, site.Lost(leased, t, err))
	}
	result, err := pruneMirror(ctx, e, &o, s, t, saved)
	result.addFormerKeys()
	return result, err
}

// addFormerKeys adds the deprecated keys to the JSON of a result, which may be nil.
func (r *PruneResult) addFormerKeys() {
	if r != nil && r.Plan != nil {
		r.Plan.AddFormerKeys()
	}
	if r != nil && r.Deleted != nil {
		r.Deleted.AddFormerKeys()
	}
}

// PruneMirrored deletes what no image set of a mirror needs after a run that was complete.
func PruneMirrored(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, record *site.ImageSetRecord) (*PruneResult, error) {
	if record == nil || record.Problem != "" {
		return nil, &copying.MirroredError{Err: advice.New(advice.Failure, "permit pushes to the repository of the records, and run again", "nothing was pruned, because the run is not recorded in the mirror")}
	}
	pruned, err := pruneMirror(ctx, s.Env, &PruneOptions{Yes: true, Now: time.Now}, s, t, nil)
	pruned.addFormerKeys()
	if pruned != nil && pruned.Deleted != nil {
		s.Audit(deletionEntries(pruned.Plan, pruned.Deleted, string(state.RunComplete))...)
	}
	if err != nil {
		return pruned, &copying.MirroredError{Err: fmt.Errorf("everything was mirrored; pruning: %w", err)}
	}
	return pruned, nil
}

func pruneMirror(ctx context.Context, e *env.Env, o *PruneOptions, s *workspace.Session, t *site.RegistryDestination, saved *prune.DeletionPlan) (*PruneResult, error) {
	r, err := readRevisions(ctx, e, o, s, t, nil)
	if err != nil {
		return nil, err
	}
	if saved != nil {
		if err := r.accept(saved, o); err != nil {
			return nil, err
		}
	}
	r, p, err := planWithTagged(ctx, e, o, s, r)
	if err != nil {
		return nil, err
	}
	all := p
	if saved != nil {
		p = p.Only(saved)
	}
	result := &PruneResult{Version: 1, Plan: p, Forgotten: r.forgotten(o.Now())}
	for i := range r.sets {
		result.ImageSets = append(result.ImageSets, r.sets[i].current().Name)
	}
	slices.Sort(result.ImageSets)
	if o.Save != "" {
		if err := durable.Write(o.Save, p.Write); err != nil {
			if err = fmt.Errorf("writing the plan: %w", err); !space.IsFull(err) {
				err = advice.Wrap(advice.Input, err, "")
			}
			return nil, err
		}
		result.Saved = o.Save
	}
	if !o.Yes && saved == nil {
		return result, nil
	}
	if result.Resources, err = r.dropGone(ctx, s, result.Forgotten); err != nil || p.Empty() && len(r.others) == 0 {
		return result, err
	}
	if o.Forget != "" && !r.onlyHere {
		if err := r.checkKept(all); err != nil {
			return result, err
		}
	}
	return result, r.execute(ctx, s, p, all, result)
}

// readDeletionPlan reads a plan that was saved.
func readDeletionPlan(path string) (*prune.DeletionPlan, error) {
	f, err := regular.OpenInput(path)
	if err != nil {
		return nil, advice.Wrap(advice.Input, fmt.Errorf("reading the plan: %w", err), "")
	}
	p, err := prune.Read(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading the plan %s: %w", path, err)
	}
	return p, nil
}

// A PruneError is the error of a run that could not delete some content, which its result lists.
type PruneError struct {
	failed  int
	reasons []error
}

// Error returns how much was not deleted.
func (e *PruneError) Error() string {
	return env.Number(e.failed, "manifest or tag", "manifests or tags") + " could not be deleted; everything that is needed is still complete"
}

// Advice returns advice.Partial and the remedy.
func (e *PruneError) Advice() (advice.Kind, string) {
	return advice.Partial, "fix the listed problems and run again"
}

// Unwrap returns the reasons.
func (e *PruneError) Unwrap() []error { return e.reasons }

// refuses returns the error of a registry that does not delete.
func refuses(t *site.RegistryDestination, err error) error {
	if !errors.Is(err, remote.ErrNoDelete) {
		return err
	}
	return advice.Wrap(advice.Partial, fmt.Errorf("%s refuses to delete content, so nothing was deleted: %w", t.Host, err), advice.Hint(err))
}

// planWithTagged returns what can be deleted. A catalog or release that no revision needs and that a tag of others keeps
// still names images: these stay, too. r is the result of the first reading of the records, the returned one
// another reading if that was necessary.
func planWithTagged(ctx context.Context, e *env.Env, o *PruneOptions, s *workspace.Session, r *recordedRevisions) (*recordedRevisions, *prune.DeletionPlan, error) {
	p, err := r.plan(ctx)
	if err != nil || o.Forget != "" && !r.onlyHere {
		return r, p, err
	}
	var kept []prune.Kept
	tagged := map[imagePlace]bool{}
	for _, k := range p.Kept {
		if k.Published {
			k.Reason += "; what it names stays, too"
			kept = append(kept, k)
			tagged[imagePlace{k.Repository, k.Digest}] = true
		}
	}
	if len(kept) == 0 {
		return r, p, nil
	}
	again := *o
	again.tagged = tagged
	if r, err = readRevisions(ctx, e, &again, s, r.to, nil); err != nil {
		return nil, nil, err
	}
	if p, err = r.plan(ctx); err != nil {
		return nil, nil, err
	}
	p.Keep(kept...)
	return r, p, nil
}
