package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// ResourcesOptions say which cluster resources Resources writes.
type ResourcesOptions struct {
	*env.Env
	// Workspace is the folder that knows the mirror. The default is env.DefaultWorkspace.
	Workspace string
	// From are the folders of an archive, each as file://DIR: the cluster resources are those after it is
	// mirrored. Mirror or MirrorHost is required then.
	From []string
	// Read has the signing policy and the identities that the archive is read with.
	Read archive.OpenOptions
	// Mirror is docker://HOST[:PORT][/PREFIX], a mirror of the workspace. It may be empty if there is only
	// one.
	Mirror string
	// MirrorHost is HOST[:PORT][/PREFIX] by which clusters reach the mirror, if it is another one. These
	// manifests are written to a folder of their own.
	MirrorHost string
	// For, ICSP, MirrorSourcePolicy, ImagePolicies and ImagePolicyNamespace are those of Format. Those
	// that are not set are as in the last run.
	For, MirrorSourcePolicy             string
	ImagePolicies, ImagePolicyNamespace string
	ICSP                                *bool
}

// ResourcesAgain writes the cluster resources of a mirror that the workspace has records of.
func ResourcesAgain(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, o *ResourcesOptions) (*ResourceFiles, error) {
	saved, err := s.ManifestOptions(t.Key())
	if err != nil {
		return nil, err
	}
	opts, err := o.Over(saved)
	if err != nil {
		return nil, err
	}
	r, err := recorded(s, t)
	if err != nil {
		return nil, err
	}
	suffix, _, err := s.Suffix(t.Key())
	if err != nil {
		return nil, err
	}
	t.Suffix = suffix
	if o.MirrorHost != "" {
		if t, err = reachedBy(s, t, o.MirrorHost, &r.all); err != nil {
			return nil, err
		}
		t.Suffix = suffix
	}
	if err := build(s, t, r, opts); err != nil {
		return nil, err
	}
	return WriteResources(ctx, s, t, r, false)
}

// Check returns an error if the options contradict each other.
func (o *ManifestOptions) Check() error {
	switch {
	case o.MirrorSourcePolicy != "" && !slices.Contains(resources.SourcePolicies(), o.MirrorSourcePolicy):
		return env.InputHint("give "+strings.Join(resources.SourcePolicies(), " or "), "Options.MirrorSourcePolicy %q", o.MirrorSourcePolicy)
	case o.ImagePolicies != "" && !slices.Contains(resources.ImagePolicyVersions(), o.ImagePolicies):
		return env.InputHint("give "+strings.Join(resources.ImagePolicyVersions(), " or "), "Options.ImagePolicies %q", o.ImagePolicies)
	case o.ImagePolicyNamespace != "" && resources.CheckNamespace(o.ImagePolicyNamespace) != nil:
		return env.Inputf("Options.ImagePolicyNamespace: %w", resources.CheckNamespace(o.ImagePolicyNamespace))
	}
	return CheckFor(o.Target, o.Options)
}

// KnownMirror returns a mirror that the workspace has records of: the given one, or the only one.
func KnownMirror(s *workspace.Session, given string, runs []state.Run) (*site.RegistryDestination, error) {
	if given == "" {
		known := site.MirrorsOf(runs)
		switch {
		case len(known) == 0:
			return nil, env.InputHint("name the mirror, docker://HOST[:PORT][/PREFIX], or set Options.Workspace", "the workspace names no mirror registry")
		case len(known) > 1:
			return nil, env.InputHint("name the mirror: docker://HOST[:PORT][/PREFIX] of one of them", "the workspace has several mirrors: %s", strings.Join(known, ", "))
		}
		given = known[0]
	}
	t, err := openOffline(s, given)
	if err != nil {
		return nil, err
	}
	records, err := s.Records(t.Key())
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, env.InputHint("mirror to it first, or name its workspace with Options.Workspace", "the workspace knows nothing of %s", given)
	}
	return t, nil
}

// openOffline opens a mirror registry that this run does not connect to.
func openOffline(s *workspace.Session, mirror string) (*site.RegistryDestination, error) {
	t, err := site.OpenMirror(s.Env, mirror, site.DestinationOptions{})
	if err == nil {
		t.Offline = true
	}
	return t, err
}

// recorded returns what the records of all image sets say about a mirror, with the names of its catalogs.
func recorded(s *workspace.Session, t *site.RegistryDestination) (*Manifests, error) {
	records, err := s.Records(t.Key())
	if err != nil {
		return nil, err
	}
	all := elements.Map(slices.Sorted(maps.Keys(records)), func(name string) state.Record { return records[name] })
	r := &Manifests{}
	if len(all) > 0 {
		r.all = state.Merge(all[0], all[1:]...)
	}
	names := state.JoinNames(all...)
	listed, err := s.ListedResources(t.Key())
	if err == nil {
		names, err = resources.NamesInFiles(r.all.Catalogs, names, listed)
	}
	if err == nil {
		r.all.Catalogs, _, err = resources.NameCatalogs(r.all.Catalogs, names)
	}
	return r, err
}

// reachedBy changes a record of t to the name by which clusters reach the mirror, and returns the mirror
// by that name.
func reachedBy(s *workspace.Session, t *site.RegistryDestination, host string, all *state.Record) (*site.RegistryDestination, error) {
	if strings.Contains(host, "://") {
		return nil, env.InputHint("write HOST[:PORT][/PREFIX]", "Options.MirrorHost %q", host)
	}
	to, err := openOffline(s, env.RegistryScheme+host)
	if err != nil {
		return nil, fmt.Errorf("Options.MirrorHost: %w", err)
	}
	if to.Key() == t.Key() {
		return to, nil
	}
	to.AliasOf = t.Key()
	if known, err := s.Records(to.Key()); err != nil || len(known) > 0 {
		if err == nil {
			err = env.InputHint("name that mirror, docker://HOST[:PORT][/PREFIX], or use another workspace", "Options.MirrorHost %s is another mirror of the workspace, whose cluster resources would be replaced", host)
		}
		return nil, err
	}
	if err := all.Rehost(t.Host, t.Prefix, to.Host, to.Prefix); err != nil {
		return nil, advice.Wrap(advice.Failure, err, "")
	}
	return to, nil
}
