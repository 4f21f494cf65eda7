package explain

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// Options says what Explain looks for, and in which plan.
type Options struct {
	Env *env.Env
	// Selection is a configuration that is planned first, as by Plan. The plan is not saved.
	selection.Selection
	updates.ReleaseTrust
	// Plan is the file of a plan. Without a configuration, the default is the only plan of Workspace.
	Plan string
	// Workspace is the folder with the plan, and with the cache to plan with. The default is
	// env.DefaultWorkspace.
	Workspace string
	// Name is the name of an image, bundle, package, release, component, chart or file; see plan.Plan.Explain.
	Name string
}

// Run returns why something is in a plan. It is an error of kind Input if the plan does not have it.
func Run(ctx context.Context, o Options) (*Result, error) {
	p, from, err := o.readPlan(ctx)
	if err != nil {
		return nil, err
	}
	e := p.Explain(strings.TrimPrefix(o.Name, env.RegistryScheme))
	if len(e.Images)+len(e.Bundles)+len(e.Releases)+len(e.Charts) > 0 {
		reached, done := o.Env.OrDefault()
		defer done()
		workspace := env.WorkspaceDir(o.Workspace)
		addFeatures(reached, &e, p, workspace)
		file, c := o.configuration(p, workspace)
		return &Result{e, askedFor(p, &e, file, c)}, nil
	}
	hint := cmp.Or(suggest.Phrase(o.Name, namesOf(p)), "gantry plan lists its packages, and with --output json its images")
	return nil, env.InputHint(hint, "%s has no image, bundle, package, release, chart or file %q", from, o.Name)
}

// readPlan returns the plan and the name of the file that it is from.
func (o *Options) readPlan(ctx context.Context) (*plan.Plan, string, error) {
	switch {
	case o.Config != "" && o.Plan != "":
		return nil, "", env.InputHint("set one of the two", "Options.Config and Options.Plan cannot be combined")
	case o.Config == "" && (o.Any() || len(o.ReleaseKeys) > 0 || o.IgnoreReleaseSignature):
		return nil, "", env.InputHint("set Options.Config", "Options.Installed, Options.Dependencies, Options.ReleaseKeys and Options.IgnoreReleaseSignature are for a configuration")
	case o.Config == "":
		file, err := o.planFile()
		if err != nil {
			return nil, "", err
		}
		p, err := signing.ReadPlan(file)
		return p, file, err
	}
	e, done := o.Env.OrDefault()
	defer done()
	p, err := planning.PlanConfig(ctx, e, planning.Options{Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, Name: selection.PlanName("", o.Config), Workspace: o.Workspace})
	return p, o.Config, err
}

// planFile returns the file of the plan.
func (o *Options) planFile() (string, error) {
	if o.Plan != "" {
		return o.Plan, nil
	}
	dir := filepath.Join(env.WorkspaceDir(o.Workspace), "plans")
	plans, err := filepath.Glob(filepath.Join(dir, "*.json"))
	switch {
	case err != nil:
		return "", env.Inputf("Options.Workspace: %w", err)
	case len(plans) == 0:
		return "", env.InputHint("make one with gantry plan -c imageset.yaml, or give one with Options.Plan", "there is no plan in %s", dir)
	case len(plans) > 1:
		return "", env.InputHint("give one of them with Options.Plan: "+strings.Join(plans, ", "), "there are %d plans in %s", len(plans), dir)
	}
	return plans[0], nil
}

// namesOf returns the names that a plan can explain, sorted, to suggest similar ones.
func namesOf(p *plan.Plan) []string {
	var names []string
	for _, c := range p.Catalogs {
		for _, pkg := range c.Packages {
			names = append(names, pkg.Name)
			for _, ch := range pkg.Channels {
				for _, b := range ch.Bundles {
					names = append(names, b.Name)
				}
			}
		}
	}
	for _, r := range p.Releases {
		names = append(names, r.Version, r.Name())
	}
	for _, c := range p.Charts {
		names = append(names, c.Name)
	}
	for _, f := range p.Files {
		names = append(names, f.Name)
	}
	for _, img := range p.Images {
		if img.Kind != plan.ChartImage && img.Kind != plan.FileImage {
			names = append(names, img.Source)
		}
		for _, b := range img.Reasons {
			if b.Release != "" && b.Name != "" {
				names = append(names, b.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
