package removal

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// DeleteOptions says what Delete deletes from a mirror. DeleteYAMLFile and Mirror are required.
type DeleteOptions struct {
	Env *env.Env
	// DeleteYAMLFile is a list of images that ListDeletions or oc mirror wrote.
	DeleteYAMLFile string
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string
	// ListMirror is the name of the mirror in the list, docker://HOST[:PORT][/PREFIX], if it is not Mirror.
	ListMirror string
	// Name is the image set that loses the content; "" for every image set of the mirror.
	Name string
	// Workspace is the folder of the workspace, whose records and cluster resources are changed, too. The
	// default is env.DefaultWorkspace.
	Workspace string
	// MaxNestedPaths is how many path components the registry allows, as in the runs that mirrored to it; 0
	// is no limit.
	MaxNestedPaths int
	// OnlyMirror is the one of PruneOptions.
	OnlyMirror bool
	// DryRun only returns what would be deleted, and which catalogs would be published again. Nothing changes in
	// the mirror, which is not asked whether it deletes, and no lease is needed.
	DryRun bool
	// Now returns the time. The default is time.Now.
	Now func() time.Time
}

// A DeleteResult is the result of Delete. Its JSON is what gantry prune --list --output json
// prints.
type DeleteResult struct {
	Version int `json:"version"`
	// Mirror is docker://HOST[:PORT][/PREFIX], and File the list.
	Mirror string `json:"mirror"`
	File   string `json:"file"`
	// DryRun means that nothing was published or deleted.
	DryRun bool `json:"dryRun,omitempty"`
	// Listed is the list, with the images as they are in the mirror.
	Listed []deletion.Item `json:"-"`
	// Catalogs were built again without bundles that were deleted, and published before that.
	Catalogs []RepublishedCatalog `json:"catalogs,omitempty"`
	// ImageSets are the image sets whose plans lost content: their next runs bring it back unless their
	// configurations change.
	ImageSets []string `json:"imageSets,omitempty"`
	// Images are the listed images that were deleted, or were to be deleted.
	Images []string `json:"images"`
	// Stays are listed images that stay.
	Stays []StayingImage `json:"stays,omitempty"`
	// Absent are listed images that the mirror did not have.
	Absent []string `json:"absent,omitempty"`
	// Unrecorded is how many of the listed images no record of the mirror has: what needs them is unknown.
	// NoRecords means that the mirror has no records at all.
	Unrecorded int  `json:"unrecorded,omitempty"`
	NoRecords  bool `json:"noRecords,omitempty"`
	// Plan, Refused, Deleted and Resources are those of a PruneResult. Plan is nil if it was not made.
	Plan      *prune.DeletionPlan    `json:"plan,omitempty"`
	Refused   bool                   `json:"refused,omitempty"`
	Deleted   *prune.Report          `json:"deleted,omitempty"`
	Resources *cluster.ResourceFiles `json:"resources,omitempty"`
}

// A RepublishedCatalog is a catalog that was built again without bundles.
type RepublishedCatalog struct {
	ImageSet string `json:"imageSet"`
	// Catalog is its name in the plan, Image its tag in the mirror.
	Catalog string        `json:"catalog"`
	Image   string        `json:"image"`
	Digest  digest.Digest `json:"digest"`
}

func (o *DeleteOptions) check() error {
	switch {
	case o.DeleteYAMLFile == "":
		return env.InputHint("set Options.DeleteYAMLFile to a file of gantry prune -c", "no list of images")
	case o.ListMirror != "" && !strings.HasPrefix(o.ListMirror, env.RegistryScheme):
		return env.InputHint("write docker://HOST[:PORT][/PREFIX]", "Options.ListMirror %q is not a mirror registry", o.ListMirror)
	}
	return nil
}

// Delete deletes the images of a list from a mirror, with what belongs to them. First, the plans of the image
// sets lose the bundles, releases, charts and additional images that these are: catalogs are built again without
// them and published, and the smaller plans are recorded. Images that a plan still has stay, and so does what
// anything refers to that neither a record nor the list has. If some content could not be deleted, or a listed image
// stays although nothing that was deleted names it, Delete returns the result and an error of kind advice.Partial. Called
// again, it continues.
func Delete(ctx context.Context, o DeleteOptions) (*DeleteResult, error) {
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t, err := site.OpenMirror(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, err
	}
	listed, err := readListedImages(e, &o, t)
	if err != nil {
		return nil, err
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	result := &DeleteResult{Version: 1, Mirror: t.String(), File: o.DeleteYAMLFile, DryRun: o.DryRun, Listed: listed.items, Images: []string{}}
	pruned := &PruneResult{Version: 1}
	if o.DryRun {
		err := deleteListed(ctx, s, &o, t, listed, result, pruned)
		pruned.addFormerKeys()
		result.Plan = pruned.Plan
		return result, err
	}
	leased, release, err := site.Lease(ctx, s, t)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.BeginAudit("delete", o.Mirror, o.Name); err != nil {
		return nil, err
	}
	err = deleteListed(leased, s, &o, t, listed, result, pruned)
	pruned.addFormerKeys()
	result.Plan, result.Refused, result.Deleted = pruned.Plan, pruned.Refused, pruned.Deleted
	if pruned.Resources != nil {
		result.Resources = pruned.Resources
	}
	return result, auditDeletions(leased, s, pruned, site.Lost(leased, t, err))
}

// deleteListed is Delete with the lease of the mirror, or a dry run.
func deleteListed(ctx context.Context, s *workspace.Session, o *DeleteOptions, t *site.RegistryDestination, listed *listedImages, result *DeleteResult, pruned *PruneResult) error {
	e := s.Env
	if err := listed.resolve(ctx, t); err != nil {
		return err
	}
	if !o.DryRun {
		if err := site.SyncRecords(ctx, s, t); err != nil {
			return err
		}
		if err := mayDelete(ctx, s, t, pruned); err != nil {
			return err
		}
	}
	if err := checkDeletable(ctx, s, o, t, listed); err != nil {
		return err
	}
	listed.begin()
	changed, err := shrink(ctx, s, t, o, listed, result)
	if err != nil {
		return err
	}
	if changed && !o.DryRun {
		if result.Resources, err = knownResources(ctx, s, t, true); err != nil {
			return err
		}
	}
	r, err := readRevisions(ctx, e, &PruneOptions{Yes: !o.DryRun, OnlyMirror: o.OnlyMirror, Now: o.Now, listed: listed}, s, t, nil)
	if err != nil {
		return err
	}
	result.NoRecords = len(r.sets) == 0
	if result.Unrecorded, err = listed.addForeign(ctx, r); err != nil {
		return err
	}
	p, err := r.plan(ctx)
	if err != nil {
		return err
	}
	p.Revisions = nil // they list what is not deleted
	pruned.Plan = p
	kept := listed.report(r, p, result)
	if p.Empty() {
		return kept
	}
	if err := r.checkKept(p); err != nil {
		return err
	}
	if !o.DryRun {
		if err := r.execute(ctx, s, p, p, pruned); err != nil {
			return err
		}
	}
	return kept
}

// mayDelete returns an error if the registry does not delete.
func mayDelete(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, pruned *PruneResult) error {
	r := &recordedRevisions{env: s.Env, to: t}
	_, err := r.probe(ctx)
	pruned.Refused = err != nil
	return err
}

// report sorts the images of the list into those that are deleted, that stay, and that do not exist. It returns an error of
// kind advice.Partial if one stays and nothing changes for it: no plan loses what names it. If a listed image does not exist,
// it may have been the one that named it, in an earlier run with the same list.
func (l *listedImages) report(r *recordedRevisions, p *prune.DeletionPlan, result *DeleteResult) error {
	deleted, kept := map[imagePlace]bool{}, map[imagePlace]string{}
	tags := map[string]bool{}
	for i := range p.Manifests {
		deleted[imagePlace{p.Manifests[i].Repository, p.Manifests[i].Digest}] = true
	}
	for _, t := range p.Tags {
		tags[t.Repository+":"+t.Tag] = true
	}
	for _, k := range p.Kept {
		kept[imagePlace{k.Repository, k.Digest}] = k.Reason
	}
	unaffected := map[string]bool{}
	for i := range l.items {
		item := &l.items[i]
		at := reference.Reference{Host: item.Image.Host, Path: item.Image.Path, Digest: item.Digest}
		place, name := imagePlace{at.Path, at.Digest}, item.Image.String()
		_, wanted := r.all.Has(at)
		reason := cmp.Or(kept[place], kept[imagePlace{at.Path, ""}])
		if because := l.wanted[place]; because != "" {
			if reason = l.named[place]; reason == "" {
				reason = because
			}
		}
		switch {
		case item.Digest == "":
			result.Absent = append(result.Absent, name)
		case tags[at.Path+":"+item.Image.Tag], deleted[place] && reason == "":
			result.Images = append(result.Images, name)
		case reason != "" || wanted:
			result.Stays = append(result.Stays, StayingImage{item.Source, name, cmp.Or(reason, "needed content refers to it")})
			if !l.affected[place] {
				unaffected[name] = true
			}
		default:
			result.Absent = append(result.Absent, name)
		}
	}
	result.Stays = sortStaying(result.Stays)
	if len(unaffected) == 0 || len(result.Absent) > 0 {
		return nil
	}
	return advice.New(advice.Partial, "list what needs it, too, or remove it from the list", "%s", env.Number(len(unaffected), "listed image stays: what needs it is not listed", "listed images stay: what needs them is not listed"))
}
