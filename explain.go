package gantry

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/suggest"
	"github.com/gantry-mirror/gantry/plan"
)

// ExplainOptions says what Explain looks for, and in which plan.
type ExplainOptions struct {
	Env *Env
	// Selection is a configuration that is planned first, as by Plan. The plan is not saved.
	Selection
	ReleaseTrust
	// Plan is the file of a plan. Without a configuration, the default is the only plan of Workspace.
	Plan string
	// Workspace is the folder with the plan, and with the cache to plan with. The default is
	// DefaultWorkspace.
	Workspace string
	// Name is the name of an image, bundle, package, release, component, chart or file; see plan.Plan.Explain.
	Name string
}

// Explain returns why something is in a plan. It is an error of kind Input if the plan does not have it.
func Explain(ctx context.Context, o ExplainOptions) (plan.Explanation, error) {
	p, from, err := o.plan(ctx)
	if err != nil {
		return plan.Explanation{}, err
	}
	e := p.Explain(strings.TrimPrefix(o.Name, RegistryScheme))
	if len(e.Images)+len(e.Bundles)+len(e.Releases)+len(e.Charts) > 0 {
		env, done := o.Env.orDefault()
		defer done()
		env.addFeatures(&e, p, workspaceDir(o.Workspace))
		return e, nil
	}
	hint := suggest.Phrase(o.Name, namesOf(p))
	if hint == "" {
		hint = "gantry plan lists its packages, and with --output json its images"
	}
	return e, inputHint(hint, "%s has no image, bundle, package, release, chart or file %q", from, o.Name)
}

// plan returns the plan and the name of the file that it is from.
func (o *ExplainOptions) plan(ctx context.Context) (*plan.Plan, string, error) {
	switch {
	case o.Config != "" && o.Plan != "":
		return nil, "", inputHint("set one of the two", "Options.Config and Options.Plan cannot be combined")
	case o.Config == "" && (o.any() || len(o.ReleaseKeys) > 0 || o.IgnoreReleaseSignature):
		return nil, "", inputHint("set Options.Config", "Options.Installed, Options.Dependencies, Options.ReleaseKeys and Options.IgnoreReleaseSignature are for a configuration")
	case o.Config == "":
		file, err := o.planFile()
		if err != nil {
			return nil, "", err
		}
		p, err := ReadPlan(file)
		return p, file, err
	}
	e, done := o.Env.orDefault()
	defer done()
	p, err := e.planConfig(ctx, PlanOptions{Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, Name: planName("", o.Config), Workspace: o.Workspace})
	return p, o.Config, err
}

// planFile returns the file of the plan.
func (o *ExplainOptions) planFile() (string, error) {
	if o.Plan != "" {
		return o.Plan, nil
	}
	dir := filepath.Join(workspaceDir(o.Workspace), "plans")
	plans, err := filepath.Glob(filepath.Join(dir, "*.json"))
	switch {
	case err != nil:
		return "", inputf("Options.Workspace: %w", err)
	case len(plans) == 0:
		return "", inputHint("make one with gantry plan -c imageset.yaml, or give one with Options.Plan", "there is no plan in %s", dir)
	case len(plans) > 1:
		return "", inputHint("give one of them with Options.Plan: "+strings.Join(plans, ", "), "there are %d plans in %s", len(plans), dir)
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
