package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/catalog/draft"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/search"
)

// DraftOptions say what a configuration is made from.
type DraftOptions struct {
	Env *env.Env
	// Objects are files with objects of clusters, for FromCluster: the output of oc get
	// csv,subscription,catalogsource,clusterextension,clustercatalog,clusterversion -A -o json. Mirror
	// sets (imagedigestmirrorset, imagetagmirrorset) say where the catalogs of a mirror come from.
	Objects []string
	// Mirror is what FromMirror reads: docker://HOST[:PORT][/PREFIX], or the folders of an
	// archive and of the archives that it builds on, each as file://DIR.
	Mirror []string
	// Workspace is the folder that was used for the mirror. The default is env.DefaultWorkspace. If it has
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

// A Draft is a configuration for people to review. Its JSON is what gantry config from-cluster
// -o json prints.
type Draft struct {
	Version int              `json:"version"`
	Config  *imageset.Config `json:"configuration"`
	// Notes are sentences about what it does not contain.
	Notes []string `json:"notes"`
	// YAML is the configuration with Comments, which are by their paths as in imageset.Config.YAML.
	YAML     []byte            `json:"-"`
	Comments map[string]string `json:"-"`
	// Catalogs are all catalogs that clusters have and whose source is known, also if nothing of them is installed.
	Catalogs []string `json:"-"`
}

// FromCluster makes a configuration that mirrors what clusters run: operators from the installed
// version to the heads of their channels, and the platform from its release to the head of its channel.
func FromCluster(o DraftOptions) (*Draft, error) {
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
func writeDraft(d *draft.Draft) (*Draft, error) {
	text, err := d.Config.YAML(d.Comments)
	if err != nil {
		return nil, err
	}
	if _, err := imageset.Parse("configuration", text); err != nil {
		return nil, advice.Wrap(advice.Input, fmt.Errorf("the configuration would be invalid: %w", err), "correct Options.Catalogs, or the objects of the cluster")
	}
	return &Draft{Version: 1, Config: d.Config, Notes: append([]string{}, d.Notes...), YAML: text, Comments: d.Comments, Catalogs: d.Catalogs}, nil
}

// FromMirror makes a configuration that mirrors what an archive or a registry has. An archive
// contains its plan, and so do the records in a registry and the workspace that was used for it. Without
// them, or with Options.Catalogs, the registry is searched for catalogs and releases.
func FromMirror(ctx context.Context, o DraftOptions) (*Draft, error) {
	e, done := o.Env.OrDefault()
	defer done()
	const forms = "write docker://HOST[:PORT][/PREFIX] for a mirror, file://DIR for an archive"
	switch {
	case len(o.Mirror) == 0:
		return nil, env.InputHint(forms, "no mirror")
	case !strings.HasPrefix(o.Mirror[0], env.RegistryScheme) && !strings.HasPrefix(o.Mirror[0], env.ArchiveScheme):
		return nil, env.InputHint(forms, "%q is neither a mirror nor an archive", redact.Address(o.Mirror[0]))
	}
	if !strings.HasPrefix(o.Mirror[0], env.RegistryScheme) {
		return configFromArchive(ctx, &o)
	}
	if len(o.Mirror) > 1 {
		return nil, env.InputHint("name one registry", "only an archive can have several folders")
	}
	t, err := site.OpenMirror(e, o.Mirror[0], site.DestinationOptions{})
	if err != nil {
		return nil, err
	}
	if len(o.Catalogs) == 0 {
		plans, err := site.PlansOf(ctx, e, o.Workspace, t)
		if err != nil {
			return nil, err
		}
		if len(plans) > 0 {
			return configFromPlans(plans, &o)
		}
	}
	found, err := search.Mirror(ctx, e, t, o.Workspace, slices.Sorted(maps.Keys(o.Catalogs)))
	if err != nil {
		return nil, err
	}
	c, err := draft.FromMirror(found, draft.Options{Pinned: o.Pinned, Catalogs: o.Catalogs})
	if err != nil {
		return nil, err
	}
	return writeDraft(c)
}

func configFromArchive(ctx context.Context, o *DraftOptions) (_ *Draft, err error) {
	have, err := open.Archive(open.Options{Env: o.Env, Folders: o.Mirror, Read: o.Read})
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
