package check

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A MirroredCheck is the check of the catalogs that a mirror has now.
type MirroredCheck struct {
	// At is the mirror, docker://HOST[:PORT][/PREFIX].
	At       string         `json:"at"`
	Upgrades upgrade.Report `json:"upgrades"`
}

// isMirror reports whether an argument is a mirror, and not one image.
func isMirror(arg string) bool {
	name, ok := strings.CutPrefix(arg, env.RegistryScheme)
	if !ok {
		return false
	}
	ref, err := reference.Parse(name)
	return err != nil || ref.Tag == "" && ref.Digest == "" // a host alone is no reference
}

// mirroredCatalogs returns the catalogs that a mirror has, and the operators that clusters run by its records. Without
// records, the repositories of the registry are searched.
func mirroredCatalogs(ctx context.Context, e *env.Env, workspace, at string) (catalogs []string, running []state.ClusterOperator, err error) {
	path, err := mirror.ParseRegistryPath(at, 0)
	if err != nil {
		return nil, nil, advice.Wrap(advice.Input, err, "")
	}
	client, err := e.Client(remote.Source) // the mirror is what is read here
	if err != nil {
		return nil, nil, err
	}
	t := &site.RegistryDestination{RegistryPath: path, Client: client}
	sets, err := setrecord.Current(ctx, t.ImageSets())
	if err != nil {
		return nil, nil, err
	}
	for i := range sets {
		record, err := setrecord.ReadRecord(ctx, t.ImageSets(), &sets[i])
		if err != nil {
			return nil, nil, err
		}
		for _, c := range record.Catalogs {
			if name := env.RegistryScheme + c.Mirror.Name() + ":" + c.Mirror.Tag; c.VariantOf == "" && !slices.Contains(catalogs, name) {
				catalogs = append(catalogs, name)
			}
		}
		if record.Clusters != nil {
			running = append(running, record.Clusters.Operators...)
		}
	}
	if len(sets) == 0 {
		found, err := config.SearchMirror(ctx, e, t, workspace, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range found.Catalogs {
			catalogs = append(catalogs, env.RegistryScheme+c.Image)
		}
	}
	return catalogs, running, nil
}

// useMirror puts the catalogs of a mirror in the place of its name, and completes what clusters run by its records.
func (c *operatorCheck) useMirror(ctx context.Context, at string) error {
	catalogs, running, err := mirroredCatalogs(ctx, c.env, c.options.Workspace, at)
	if err != nil {
		return err
	}
	if len(catalogs) == 0 {
		return env.InputHint("name the prefix that it was filled with, or a catalog as HOST[:PORT]/PATH:TAG", "%s has no catalogs", at)
	}
	o := *c.options
	o.Catalogs = catalogs
	c.options = &o
	c.know(running)
	return nil
}

// know completes what clusters run by a record, unless the user named files about it.
func (c *operatorCheck) know(running []state.ClusterOperator) {
	if len(c.selected.Clusters) > 0 || len(running) == 0 {
		return
	}
	c.selected.Recorded.Operators = running
	c.env.Noticef("Options.Installed is not given: checking %s (%s) that clusters ran when a run was last given it", env.Number(len(running), "operator", "operators"), planning.FirstNames(running))
}

// mirrors returns the mirrors that the catalogs of a configuration were copied to: the one that the user names, or those of
// the workspace.
func (c *operatorCheck) mirrors() (all []string, named bool, err error) {
	if len(c.options.Catalogs) > 0 {
		return c.options.Catalogs, true, nil
	}
	runs, err := state.Runs(env.WorkspaceDir(c.options.Workspace))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	name := selection.PlanName("", c.options.Config)
	for _, run := range runs {
		ended := run.Result == state.RunComplete || run.Result == state.RunPartial || !run.LastSuccess.IsZero()
		if run.Name == name && ended && strings.HasPrefix(run.Destination, env.RegistryScheme) && !slices.Contains(all, run.Destination) {
			all = append(all, run.Destination)
		}
	}
	return all, false, nil
}

// checkMirrors checks the operators with the catalogs that the mirrors of a configuration have now. A mirror of the
// workspace that cannot be read is a warning.
func (c *operatorCheck) checkMirrors(ctx context.Context, operators []installed.Operator) (all []MirroredCheck, err error) {
	mirrors, named, err := c.mirrors()
	if err != nil {
		return nil, err
	}
	for _, at := range mirrors {
		report, err := c.checkMirror(ctx, at, operators)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && named:
			return nil, err
		case err != nil:
			c.env.Warnf("the catalogs that %s has now were not checked: %s", at, env.ErrorText(err))
		default:
			all = append(all, MirroredCheck{At: at, Upgrades: report})
		}
	}
	return all, nil
}

func (c *operatorCheck) checkMirror(ctx context.Context, at string, operators []installed.Operator) (upgrade.Report, error) {
	o := Options{Env: c.options.Env, Workspace: c.options.Workspace, ClusterVersion: c.options.ClusterVersion}
	m := &operatorCheck{env: c.env, options: &o, selected: &selection.Selected{Clusters: operators, Conditions: c.selected.Conditions}, sources: c.sources}
	if err := m.useMirror(ctx, at); err != nil {
		return upgrade.Report{}, err
	}
	_, catalogs, err := m.read(ctx, operators)
	if err != nil {
		return upgrade.Report{}, err
	}
	report, err := upgrade.Check(operators, catalogs, upgrade.Options{ClusterVersion: c.clusterVersion(), Conditions: c.selected.Conditions})
	return report, advice.Wrap(advice.Input, err, "")
}

// mirroredNowError returns an error of kind Mismatch if an operator has a problem with what a mirror has now.
func mirroredNowError(all []MirroredCheck) error {
	for _, m := range all {
		if err := (&Result{Upgrades: m.Upgrades}).operatorsError(""); err != nil {
			return advice.New(advice.Mismatch, "mirror again, and publish what this configuration keeps", "%s: %w", m.At, err)
		}
	}
	return nil
}
