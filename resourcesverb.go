package gantry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// ResourcesOptions say which cluster resources Resources writes.
type ResourcesOptions struct {
	*Env
	// Workspace is the folder that knows the mirror. The default is DefaultWorkspace.
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
	// For, ICSP, MirrorSourcePolicy, ImagePolicies and ImagePolicyNamespace are those of MirrorOptions. Those
	// that are not set are as in the last run.
	For, MirrorSourcePolicy             string
	ImagePolicies, ImagePolicyNamespace string
	ICSP                                *bool
}

// Resources writes the cluster resources of a mirror again, from what the workspace knows of it. No
// registry is asked.
func Resources(ctx context.Context, o ResourcesOptions) (*ResourceFiles, error) {
	e, closeEnv := o.Env.orDefault()
	defer closeEnv()
	given := o.manifests()
	if err := given.check(); err != nil {
		return nil, err
	}
	if len(o.From) > 0 {
		return o.fromArchive(ctx, e)
	}
	status, err := Status(o.Workspace)
	if err != nil {
		return nil, err
	}
	s, err := e.OpenSession(workspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.release()
	t, err := s.knownMirror(o.Mirror, status.Runs)
	if err != nil {
		return nil, err
	}
	return s.resourcesAgain(ctx, t, &o)
}

// resourcesAgain writes the cluster resources of a mirror that the workspace has records of.
func (s *Session) resourcesAgain(ctx context.Context, t *RegistryDestination, o *ResourcesOptions) (*ResourceFiles, error) {
	saved, err := s.ManifestOptions(t.Key())
	if err != nil {
		return nil, err
	}
	opts, err := o.over(saved)
	if err != nil {
		return nil, err
	}
	r, err := s.recorded(t)
	if err != nil {
		return nil, err
	}
	suffix, _, err := s.Suffix(t.Key())
	if err != nil {
		return nil, err
	}
	t.suffix = suffix
	if o.MirrorHost != "" {
		if t, err = s.reachedBy(t, o.MirrorHost, &r.all); err != nil {
			return nil, err
		}
		t.suffix = suffix
	}
	if err := s.build(t, r, opts); err != nil {
		return nil, err
	}
	return s.writeResources(ctx, t, r, false)
}

// fromArchive writes the cluster resources after a copy of the archive.
func (o *ResourcesOptions) fromArchive(ctx context.Context, e *Env) (*ResourceFiles, error) {
	destination := o.Mirror
	switch {
	case o.Mirror == "" && o.MirrorHost == "":
		return nil, inputHint("set Options.MirrorHost to HOST[:PORT][/PREFIX]", "an archive does not name the mirror")
	case o.Mirror != "" && o.MirrorHost != "":
		return nil, inputHint("leave one of them out", "Options.From is for one mirror, and both docker://HOST[:PORT][/PREFIX] and Options.MirrorHost name one")
	case o.MirrorHost != "":
		destination = RegistryScheme + o.MirrorHost
	}
	result, err := Mirror(ctx, MirrorOptions{
		Env: e, From: o.From, Read: o.Read, Destination: destination, Workspace: o.Workspace, ResourcesOnly: true, again: o,
	})
	if err != nil {
		return nil, err
	}
	return result.Resources, nil
}

// check returns an error if the options contradict each other.
func (o *manifestOptions) check() error {
	switch {
	case o.MirrorSourcePolicy != "" && !slices.Contains(resources.SourcePolicies(), o.MirrorSourcePolicy):
		return inputHint("give "+strings.Join(resources.SourcePolicies(), " or "), "Options.MirrorSourcePolicy %q", o.MirrorSourcePolicy)
	case o.ImagePolicies != "" && !slices.Contains(resources.ImagePolicyVersions(), o.ImagePolicies):
		return inputHint("give "+strings.Join(resources.ImagePolicyVersions(), " or "), "Options.ImagePolicies %q", o.ImagePolicies)
	case o.ImagePolicyNamespace != "" && resources.CheckNamespace(o.ImagePolicyNamespace) != nil:
		return inputf("Options.ImagePolicyNamespace: %w", resources.CheckNamespace(o.ImagePolicyNamespace))
	}
	return checkFor(o.target, o.Options)
}

// knownMirror returns a mirror that the workspace has records of: the given one, or the only one.
func (s *Session) knownMirror(given string, runs []state.Run) (*RegistryDestination, error) {
	if given == "" {
		known := mirrorsOf(runs)
		switch {
		case len(known) == 0:
			return nil, inputHint("name the mirror, docker://HOST[:PORT][/PREFIX], or set Options.Workspace", "the workspace names no mirror registry")
		case len(known) > 1:
			return nil, inputHint("name the mirror: docker://HOST[:PORT][/PREFIX] of one of them", "the workspace has several mirrors: %s", strings.Join(known, ", "))
		}
		given = known[0]
	}
	t, err := s.openMirror(given)
	if err != nil {
		return nil, err
	}
	records, err := s.Records(t.Key())
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, inputHint("mirror to it first, or name its workspace with Options.Workspace", "the workspace knows nothing of %s", given)
	}
	return t, nil
}

// mirrorsOf returns the registries that runs mirrored to, sorted.
func mirrorsOf(runs []state.Run) []string {
	known := map[string]bool{}
	for _, r := range runs {
		if r.Mirror != "" && r.Destination != "" {
			known[r.Destination] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

func (s *Session) openMirror(destination string) (*RegistryDestination, error) {
	if !strings.HasPrefix(destination, RegistryScheme) {
		return nil, inputHint("write docker://HOST[:PORT][/PREFIX]", "%q is not a mirror registry", destination)
	}
	t, err := s.env.OpenDestination(destination, DestinationOptions{})
	if err != nil {
		return nil, err
	}
	r := t.Registry()
	r.offline = true
	return r, nil
}

// recorded returns what the records of all image sets say about a mirror, with the names of its catalogs.
func (s *Session) recorded(t *RegistryDestination) (*clusterResources, error) {
	records, err := s.Records(t.Key())
	if err != nil {
		return nil, err
	}
	var all []state.Record
	for _, name := range slices.Sorted(maps.Keys(records)) {
		all = append(all, records[name])
	}
	r := &clusterResources{}
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
func (s *Session) reachedBy(t *RegistryDestination, host string, all *state.Record) (*RegistryDestination, error) {
	if strings.Contains(host, "://") {
		return nil, inputHint("write HOST[:PORT][/PREFIX]", "Options.MirrorHost %q", host)
	}
	to, err := s.openMirror(RegistryScheme + host)
	if err != nil {
		return nil, fmt.Errorf("Options.MirrorHost: %w", err)
	}
	if to.Key() == t.Key() {
		return to, nil
	}
	to.aliasOf = t.Key()
	if known, err := s.Records(to.Key()); err != nil || len(known) > 0 {
		if err == nil {
			err = inputHint("name that mirror, docker://HOST[:PORT][/PREFIX], or use another workspace", "Options.MirrorHost %s is another mirror of the workspace, whose cluster resources would be replaced", host)
		}
		return nil, err
	}
	if err := all.Rehost(t.Host, t.Prefix, to.Host, to.Prefix); err != nil {
		return nil, advice.Wrap(advice.Failure, err, "")
	}
	return to, nil
}
