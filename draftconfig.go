package gantry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/catalog/draft"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/redact"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/plan"
)

// DraftOptions say what a configuration is made from.
type DraftOptions struct {
	Env *Env
	// Objects are files with objects of clusters, for ConfigFromCluster: the output of oc get
	// csv,subscription,catalogsource,clusterextension,clustercatalog,clusterversion -A -o json. Mirror
	// sets (imagedigestmirrorset, imagetagmirrorset) say where the catalogs of a mirror come from.
	Objects []string
	// Mirror is what ConfigFromMirror reads: docker://HOST[:PORT][/PREFIX], or the folders of an
	// archive and of the archives that it builds on, each as file://DIR.
	Mirror []string
	// Workspace is the folder that was used for the mirror. The default is DefaultWorkspace. If it has
	// plans for the mirror, they say what was selected.
	Workspace string
	// Read says with which signatures and identities archives are read.
	Read archive.OpenOptions
	// Pinned selects what is installed or mirrored now, and nothing newer.
	Pinned bool
	// Catalogs are the references of catalogs whose source cannot be read from the input: by the name
	// of a CatalogSource, a ClusterCatalog or a package, or by the path in the mirror.
	Catalogs map[string]string
}

// A ConfigDraft is a configuration for people to review. Its JSON is what gantry config from-cluster
// -o json prints.
type ConfigDraft struct {
	Version int              `json:"version"`
	Config  *imageset.Config `json:"configuration"`
	// Notes are sentences about what it does not contain.
	Notes []string `json:"notes"`
	// YAML is the configuration with comments.
	YAML []byte `json:"-"`
}

// ConfigFromCluster makes a configuration that mirrors what clusters run: operators from the installed
// version to the heads of their channels, and the platform from its release to the head of its channel.
func ConfigFromCluster(o DraftOptions) (*ConfigDraft, error) {
	var all installed.Cluster
	for _, name := range o.Objects {
		c, err := readCluster(name)
		if err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
		all.Add(c)
	}
	d, err := draft.FromCluster(&all, draft.Options{Pinned: o.Pinned, Catalogs: o.Catalogs})
	if err != nil {
		return nil, err
	}
	return writeDraft(d)
}

func readCluster(name string) (_ *installed.Cluster, err error) {
	f, err := regular.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return installed.ReadCluster(name, f)
}

// writeDraft writes a draft and checks that it can be read.
func writeDraft(d *draft.Draft) (*ConfigDraft, error) {
	text, err := d.Config.YAML(d.Comments)
	if err != nil {
		return nil, err
	}
	if _, err := imageset.Parse("configuration", text); err != nil {
		return nil, advice.Wrap(advice.Input, fmt.Errorf("the configuration would be invalid: %w", err), "correct Options.Catalogs, or the objects of the cluster")
	}
	return &ConfigDraft{Version: 1, Config: d.Config, Notes: append([]string{}, d.Notes...), YAML: text}, nil
}

// ConfigFromMirror makes a configuration that mirrors what an archive or a registry has. An archive
// contains its plan, and so does the workspace that was used for a registry. Without it, the registry is
// searched for catalogs and releases.
func ConfigFromMirror(ctx context.Context, o DraftOptions) (*ConfigDraft, error) {
	e, done := o.Env.orDefault()
	defer done()
	const forms = "write docker://HOST[:PORT][/PREFIX] for a mirror, file://DIR for an archive"
	switch {
	case len(o.Mirror) == 0:
		return nil, inputHint(forms, "no mirror")
	case !strings.HasPrefix(o.Mirror[0], RegistryScheme) && !strings.HasPrefix(o.Mirror[0], ArchiveScheme):
		return nil, inputHint(forms, "%q is neither a mirror nor an archive", redact.Address(o.Mirror[0]))
	}
	if !strings.HasPrefix(o.Mirror[0], RegistryScheme) {
		return configFromArchive(ctx, &o)
	}
	if len(o.Mirror) > 1 {
		return nil, inputHint("name one registry", "only an archive can have several folders")
	}
	d, err := e.OpenDestination(o.Mirror[0], DestinationOptions{})
	if err != nil {
		return nil, err
	}
	t := d.Registry()
	plans, err := e.plansOf(o.Workspace, t)
	if err != nil {
		return nil, err
	}
	if len(plans) > 0 {
		return configFromPlans(plans, &o)
	}
	found, err := e.searchMirror(ctx, t, o.Workspace, slices.Sorted(maps.Keys(o.Catalogs)))
	if err != nil {
		return nil, err
	}
	c, err := draft.FromMirror(found, draft.Options{Pinned: o.Pinned, Catalogs: o.Catalogs})
	if err != nil {
		return nil, err
	}
	return writeDraft(c)
}

func configFromArchive(ctx context.Context, o *DraftOptions) (_ *ConfigDraft, err error) {
	have, err := OpenArchive(ArchiveOptions{Env: o.Env, Folders: o.Mirror, Read: o.Read})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, have.Close()) }()
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		return nil, err
	}
	return configFromPlans([]*plan.Plan{p}, o)
}

// plansOf returns the plans that the workspace in a folder has for a mirror, sorted by name; none if the
// folder does not exist or the mirror was not filled from it.
func (e *Env) plansOf(workspace string, t *RegistryDestination) ([]*plan.Plan, error) {
	if _, err := os.Stat(workspaceDir(workspace)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // and none is made
	}
	s, err := e.OpenSession(workspaceDir(workspace))
	if err != nil {
		return nil, err
	}
	defer s.release()
	_, records, err := s.records(t, "")
	if err != nil {
		return nil, err
	}
	var plans []*plan.Plan
	for _, name := range slices.Sorted(maps.Keys(records)) {
		p, err := s.mirroredPlan(t, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			e.warn("the workspace no longer has the plan %s that was mirrored to %s, so its content is not included", name, t)
		case err != nil:
			return nil, err
		default:
			plans = append(plans, p)
		}
	}
	return plans, nil
}
