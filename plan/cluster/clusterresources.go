package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// ResourceFiles lists the cluster resources that were written.
type ResourceFiles struct {
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
	// Web are files for a web server. They are not manifests, and are in folders of their own.
	Web     []string `json:"web,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Folders are those beside Dir, with files for other consumers.
	Folders []WrittenFolder `json:"folders,omitempty"`
	// Support are the files for "oc apply -k", and skeletons for users to complete. Applied says what that
	// command applies.
	Support []string              `json:"support,omitempty"`
	Applied *resources.Kustomized `json:"applied,omitempty"`
	// Objects are the differences from the objects of the run before, and Nodes what applying them does
	// to the nodes of OpenShift.
	Objects *resources.Changes    `json:"objects,omitempty"`
	Nodes   *resources.NodeEffect `json:"nodes,omitempty"`
	Notes   []string              `json:"notes,omitempty"`
}

// A Manifests has the manifests that clusters apply to use a mirror.
type Manifests struct {
	// mine is the record of one plan, all the merged records of all plans.
	mine, all state.Record
	// mirrors are the entries of the mirror sets.
	mirrors []resources.SourceMirrors
	files   []resources.File
	notes   []string
	// target are the clusters that the files are for, and opts how they are written.
	target resources.Target
	opts   ManifestOptions
	// access says how clusters connect to the mirror.
	access mirrorAccess
	// support are the files for applying them in one step, which applies what is in applied.
	support []resources.File
	applied resources.Kustomized
}

// NewManifests returns the manifests for everything in the mirror: the images of p that arrived
// according to the report, and those of other plans. It changes nothing.
func NewManifests(s *workspace.Session, t *site.RegistryDestination, p *plan.Plan, report *mirror.Report, opts ManifestOptions) (*Manifests, error) {
	before, others, err := site.Records(s, t, p.Name)
	if err != nil {
		return nil, err
	}
	r := &Manifests{mine: mirror.NewRecord(p, t.Names, report, before)}
	if before != nil {
		r.mine.Clusters = before.Clusters
	}
	switch {
	case opts.Accepted != nil:
		policies, notes := opts.Accepted.Images.ImagePolicies(p)
		r.mine.ImagePolicies = trust.WithoutFailed(policies, report)
		if opts.ImagePolicies != resources.NoImagePolicies {
			r.notes = append(r.notes, notes...)
		}
	case before != nil:
		r.mine.ImagePolicies = before.ImagePolicies
	}
	rest := elements.Map(slices.Sorted(maps.Keys(others)), func(name string) state.Record { return others[name] })
	r.all = state.Merge(r.mine, rest...)
	if err := nameCatalogs(s, t, p, r, before, rest); err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	return r, build(s, t, r, opts)
}

// build writes the manifests for what r has of the mirror.
func build(s *workspace.Session, t *site.RegistryDestination, r *Manifests, opts ManifestOptions) error {
	opts.Suffix = t.Suffix
	if err := chooseTarget(s, t, r, &opts); err != nil {
		return err
	}
	r.opts = opts
	var err error
	if r.access, err = access(s, t); err != nil {
		return err
	}
	files, notes, err := resources.Build(r.all.Images, r.all.Catalogs, opts.Options)
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	r.files, r.notes = files, append(r.notes, notes...)
	if r.mirrors, err = resources.Mirrors(r.all.Images, opts.Options); err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	platform := r.all.Platform()
	platform.Suffix = t.Suffix
	if t.SuffixNote != "" {
		r.notes = append(r.notes, t.SuffixNote)
	}
	more, err := resources.BuildPlatform(platform)
	r.files = append(r.files, more...)
	if err == nil {
		more, err = resources.BuildImagePolicies(r.all.ImagePolicies, opts.Options)
		r.files = append(r.files, more...)
	}
	if err == nil && s.UsesLayout() == state.OCMirrorLayout {
		r.files, err = resources.OCMirrorFiles(r.files)
	}
	if err != nil {
		return err
	}
	ca, without, err := caFile(s, t, r)
	if err != nil {
		return err
	}
	return r.kustomize(t, ca, without)
}

// PreviewResources returns the manifests that a run would write, and what would change. It writes
// nothing.
func PreviewResources(s *workspace.Session, t *site.RegistryDestination, r *Manifests) (*ResourceFiles, error) {
	out := &ResourceFiles{Dir: s.ResourcesDir(t.Key()), Files: resources.FileNames(r.files), Notes: r.notes}
	return out, compareObjects(s, t, r, out)
}

// compareObjects adds the differences from the objects of the run before, with notes about those that
// other mirrors of the workspace have, too.
func compareObjects(s *workspace.Session, t *site.RegistryDestination, r *Manifests, out *ResourceFiles) error {
	before, err := s.SavedResources(t.Key(), out.Files)
	if err != nil {
		return err
	}
	written := before
	before, after := resources.Applied(before), resources.Applied(slices.Concat(r.files, r.support))
	kept := resources.Kept(before, after, r.files)
	if out.Objects, err = resources.Compare(before, slices.Concat(after, kept)); err != nil {
		return err
	}
	out.Objects.NotApplied = resources.ObjectNames(kept)
	out.Objects.Unchanged -= len(out.Objects.NotApplied)
	out.Objects.AddDropped(written, slices.Concat(r.files, r.support))
	out.Applied = &r.applied
	if !r.target.Kubernetes {
		effect := resources.Nodes(before, slices.Concat(after, kept))
		out.Nodes = &effect
	}
	if t.AliasOf != "" {
		return nil
	}
	elsewhere, err := s.OtherResources(t.Key())
	if err == nil {
		err = withoutAliases(s, elsewhere)
	}
	if err != nil {
		return err
	}
	for _, dir := range slices.Sorted(maps.Keys(elsewhere)) {
		others := resources.ObjectNames(resources.Applied(elsewhere[dir]))
		shared := func(n resources.ObjectName) bool { return n.Kind != "ConfigMap" && slices.Contains(others, n) }
		for _, n := range out.Objects.Added {
			if shared(n) {
				out.Notes = append(out.Notes, fmt.Sprintf("%s is also in %s, for another mirror; a cluster has the one that was applied last", n, dir))
			}
		}
		// Deleting them would take them from the other mirror.
		out.Objects.Removed = slices.DeleteFunc(out.Objects.Removed, func(n resources.ObjectName) bool {
			if shared(n) {
				out.Notes = append(out.Notes, fmt.Sprintf("%s is now for another mirror alone; a cluster that uses that one needs %s applied again", n, dir))
			}
			return slices.Contains(others, n)
		})
		out.Objects.NotApplied = slices.DeleteFunc(out.Objects.NotApplied, func(n resources.ObjectName) bool { return slices.Contains(others, n) })
		// So would setting them back.
		out.Objects.Settings = slices.DeleteFunc(out.Objects.Settings, func(s resources.Setting) bool { return slices.Contains(others, s.ObjectName) })
	}
	return nil
}

// nameCatalogs names the catalogs of r. All catalogs of the plan get a name, also those that were not
// published yet.
func nameCatalogs(s *workspace.Session, t *site.RegistryDestination, p *plan.Plan, r *Manifests, before *state.Record, rest []state.Record) error {
	if before != nil && t.RenameCatalogs {
		before = &state.Record{}
	}
	known := rest
	if before != nil {
		known = slices.Concat(rest, []state.Record{*before})
	}
	planned := mirror.RecordedCatalogs(p, t.Names)
	saved := state.JoinNames(known...)
	if t.RenameCatalogs {
		isPlanned := func(n resources.CatalogName) bool {
			return slices.ContainsFunc(planned, func(c resources.Catalog) bool { return c.Source == n.Source && c.Target == n.Target })
		}
		saved = slices.DeleteFunc(saved, isPlanned)
	} else {
		listed, err := s.ListedResources(t.Key())
		if err == nil {
			saved, err = resources.NamesInFiles(planned, saved, listed)
		}
		if err != nil {
			return err
		}
	}
	_, names, err := resources.NameCatalogs(slices.Concat(planned, r.all.Catalogs), saved)
	if err != nil {
		return err
	}
	isMine := func(n resources.CatalogName) bool {
		is := func(c resources.Catalog) bool { return c.Source == n.Source && c.Target == n.Target }
		return slices.ContainsFunc(planned, is) || slices.ContainsFunc(r.mine.Catalogs, is) ||
			before != nil && slices.ContainsFunc(before.Names, func(b resources.CatalogName) bool { return b.Source == n.Source && b.Target == n.Target })
	}
	for _, n := range names {
		if isMine(n) {
			r.mine.Names = append(r.mine.Names, n)
		}
	}
	r.all.Catalogs, _, err = resources.NameCatalogs(r.all.Catalogs, names)
	return err
}

// SaveResources saves the record of the mirror and this plan, in the workspace and in the mirror, and writes the
// manifests and the files for a web server.
func SaveResources(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, p *plan.Plan, report *mirror.Report, opts ManifestOptions, run setrecord.Revision) (*ResourceFiles, *site.ImageSetRecord, error) {
	r, err := NewManifests(s, t, p, report, opts)
	if err != nil {
		return nil, nil, err
	}
	r.mine.Clusters = s.Recording
	unsaved := s.SaveRecord(t.Key(), p.Name, &r.mine)
	recorded, err := site.RecordRun(ctx, s, t, run, &r.mine, p.Write) // even if the workspace is full
	if err = errors.Join(unsaved, err); err != nil {
		return nil, nil, err
	}
	out, err := WriteResources(ctx, s, t, r, true)
	return out, recorded, err
}

// WriteResources writes the manifests and the files for a web server. If read is not set, the mirror is
// asked for nothing: update graphs are those of the plans.
func WriteResources(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, r *Manifests, read bool) (*ResourceFiles, error) {
	// If the mirror cannot be read just now, the manifests are written anyway.
	web, notes, unread := webFiles(ctx, t, &r.all, read)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := &ResourceFiles{
		Files: resources.FileNames(r.files), Web: resources.FileNames(web), Support: resources.FileNames(r.support), Notes: append(r.notes, notes...),
	}
	err := compareObjects(s, t, r, out)
	if err != nil {
		return nil, err
	}
	out.Dir, out.Removed, err = s.SaveResources(t.Key(), slices.Concat(r.files, web, r.support))
	out.Removed = resources.WithoutSupport(out.Removed)
	if err == nil {
		err = s.SaveManifestOptions(t.Key(), r.opts.saved(t, r.access))
	}
	if err == nil {
		err = saveFolders(s, t, r, out)
	}
	if unread != nil {
		unread = fmt.Errorf("the manifests in %s were written; making update graphs for a web server: %w", out.Dir, unread)
	}
	return out, errors.Join(err, unread)
}
