package mirroring

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// Resources writes the cluster resources of a mirror again, from what the workspace knows of it. No
// registry is asked.
func Resources(ctx context.Context, o cluster.ResourcesOptions) (*cluster.ResourceFiles, error) {
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	given := o.Manifests()
	if err := given.Check(); err != nil {
		return nil, err
	}
	if len(o.From) > 0 {
		return fromArchive(ctx, &o, e)
	}
	status, err := workspace.Status(o.Workspace)
	if err != nil {
		return nil, err
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	t, err := cluster.KnownMirror(s, o.Mirror, status.Runs)
	if err != nil {
		return nil, err
	}
	return cluster.ResourcesAgain(ctx, s, t, &o)
}

// fromArchive writes the cluster resources after a copy of the archive.
func fromArchive(ctx context.Context, o *cluster.ResourcesOptions, e *env.Env) (*cluster.ResourceFiles, error) {
	destination := o.Mirror
	switch {
	case o.Mirror == "" && o.MirrorHost == "":
		return nil, env.InputHint("set Options.MirrorHost to HOST[:PORT][/PREFIX]", "an archive does not name the mirror")
	case o.Mirror != "" && o.MirrorHost != "":
		return nil, env.InputHint("leave one of them out", "Options.From is for one mirror, and both docker://HOST[:PORT][/PREFIX] and Options.MirrorHost name one")
	case o.MirrorHost != "":
		destination = env.RegistryScheme + o.MirrorHost
	}
	result, err := run(ctx, Options{
		Env: e, ImportOptions: ImportOptions{From: o.From, Read: o.Read}, Destination: destination, Workspace: o.Workspace, ResourcesOnly: true,
	}, o)
	if err != nil {
		return nil, err
	}
	return result.Resources, nil
}
