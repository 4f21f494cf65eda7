package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/proof"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// checkPlatform checks that updates are possible with the content of a mirror.
func checkPlatform(ctx context.Context, e *env.Env, o *Options) (*Result, error) {
	if err := o.validatePlatform(); err != nil {
		return nil, err
	}
	destination, err := site.OpenDestination(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths, CheckBlobs: o.Blobs, ReadBlobs: o.ReadBlobs})
	if err != nil {
		return nil, err
	}
	c := &platformCheck{env: e, options: o, target: destination.Registry()}
	report, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	return &Result{Platform: report}, platformError(report)
}

// validatePlatform returns an error if options are missing or contradict each other.
func (o *Options) validatePlatform() error {
	given := 0
	for _, is := range []bool{o.Config != "", o.Plan != "", len(o.From) > 0 || o.To != ""} {
		if is {
			given++
		}
	}
	switch {
	case len(o.Catalogs) > 0 || !strings.HasPrefix(o.Mirror, env.RegistryScheme):
		return env.InputHint("write docker://HOST[:PORT][/PREFIX]", "updates of the platform are checked with one mirror")
	case given > 1:
		return env.InputHint("set one of Options.Config, Options.Plan, and Options.From with Options.To", "the updates to check with %s are given twice", o.Mirror)
	case (len(o.From) > 0) != (o.To != ""):
		return env.InputHint("set both", "Options.From and Options.To are the ends of an update")
	case o.To == "" && (o.Channel != "" || o.Arch != ""):
		return env.Inputf("Options.Channel and Options.Arch are for Options.From and Options.To; a plan has its own")
	case o.To != "" && len(o.ReleaseKeys) > 0:
		return env.InputHint("check a plan", "Options.ReleaseKeys is not for Options.From and Options.To: clusters verify an update with the keys of the release that they run")
	case len(o.ClusterExtension)+len(o.ClusterCatalog) > 0 || o.ClusterVersion != "":
		return env.InputHint("check operators in another run", "options for operators cannot be combined with a check of the platform")
	case o.Selection.Any() && o.Config == "":
		return selection.ErrNoSelection()
	}
	return nil
}

// A platformCheck is a check of platform updates.
type platformCheck struct {
	env     *env.Env
	options *Options
	target  *site.RegistryDestination
	// configured is mirror.platform of the configuration; nil without one.
	configured *imageset.Releases
}

func (c *platformCheck) run(ctx context.Context) (*proof.Report, error) {
	if c.options.To != "" {
		return c.runVersions(ctx)
	}
	var plans []*plan.Plan
	err := c.target.During(ctx, c.target.Prefix, false, func(ctx context.Context) (err error) {
		plans, err = c.plans(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	check, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		planned, err := c.planned(ctx, p)
		if err == nil {
			err = check.Plan(ctx, planned)
		}
		if err != nil {
			return nil, err
		}
	}
	return check.Report(), nil
}

// runVersions checks the updates from Options.From to Options.To.
func (c *platformCheck) runVersions(ctx context.Context) (*proof.Report, error) {
	var arches []release.Arch
	if c.options.Arch != "" {
		arch, err := release.ParseArch(c.options.Arch)
		if err != nil {
			return nil, env.Inputf("Options.Arch: %w", err)
		}
		arches = append(arches, arch)
	}
	var versions []semver.Version
	for _, text := range append(slices.Clone(c.options.From), c.options.To) {
		v, err := semver.Parse(text)
		if err != nil {
			return nil, env.Inputf("%q is not a version such as 4.20.5: %w", text, err)
		}
		versions = append(versions, v)
	}
	check, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if len(arches) == 0 {
		arches = check.Arches(versions)
	}
	last := len(versions) - 1
	if len(arches) == 0 {
		return nil, advice.New(advice.Mismatch, "mirror it first", "%s has no release %s", c.target, versions[last])
	}
	for _, arch := range arches {
		if err := check.Versions(ctx, versions[:last], versions[last], c.options.Channel, arch); err != nil {
			return nil, err
		}
	}
	return check.Report(), nil
}

// open reads which releases the mirror has.
func (c *platformCheck) open(ctx context.Context) (*proof.Check, error) {
	t, workspace := c.target, env.WorkspaceDir(c.options.Workspace)
	c.env.Noticef("reading the releases of %s", t)
	images := site.NewMirrorImages(t.Client)
	opts := proof.Options{
		Mirror:   t.String(),
		Releases: t.Repository(plan.ReleaseRepository).Name(), Components: t.Repository(plan.ComponentRepository).Name(), GraphData: t.Repository(plan.GraphRepository).Name(),
		Jobs: min(t.Streams, site.MaxReleaseReads), Now: time.Now(), IgnoreReleaseSignature: c.options.IgnoreReleaseSignature, Workspace: cmp.Or(c.options.Workspace, env.DefaultWorkspace),
		ConfigMap: func(image digest.Digest) (file string, text []byte, err error) {
			file, text, err = state.ReadResource(workspace, t.Key(), resources.SignatureFile(image))
			if errors.Is(err, fs.ErrNotExist) {
				if joined, all, err := state.ReadResource(workspace, t.Key(), resources.OCMirrorSignatures); err == nil {
					return joined, all, nil
				}
			}
			if errors.Is(err, state.ErrNoResources) {
				err = proof.ErrNoConfigMaps
			}
			return file, text, err
		},
		Keyrings: func(product release.Product) ([]gpg.Keyring, error) {
			trust, err := updates.NewUpdates(c.env, nil, c.configured, c.options.ReleaseTrust).Trust(product)
			return trust.Keyrings, err
		},
		Blobs: string(t.BlobCheck()),
	}
	if t.CheckBlobs {
		opts.BlobProblem = func(ctx context.Context, image string) (string, error) {
			return images.BlobProblem(ctx, image, t.ReadBlobs)
		}
	}
	return proof.Open(ctx, images, opts)
}

// plans returns the plan of the options, or the plans with releases of the mirror.
func (c *platformCheck) plans(ctx context.Context) ([]*plan.Plan, error) {
	o := c.options
	if o.Plan != "" {
		p, err := signing.ReadPlan(o.Plan)
		if err == nil && len(p.Releases) == 0 {
			err = env.Inputf("%s has no platform releases", o.Plan)
		}
		return []*plan.Plan{p}, err
	}
	selected, err := o.Selection.Load()
	if err != nil {
		return nil, err
	}
	if o.Config == "" {
		return site.MirroredPlans(ctx, c.env, o.Workspace, c.target)
	}
	if selected.Config.Mirror.Platform == nil {
		return nil, env.Inputf("%s has no mirror.platform", o.Config)
	}
	c.configured = selected.Config.Mirror.Platform
	result, err := planning.Make(ctx, planning.Options{Env: c.env, Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, Workspace: o.Workspace})
	if result == nil {
		return nil, err
	}
	return []*plan.Plan{result.Plan}, nil // images that are missing at their sources are part of the report
}

// platformError returns an error of kind Mismatch if an update is not possible or something is
// missing.
func platformError(r *proof.Report) error {
	var texts []string
	hops, impossible, incomplete := r.Count()
	if impossible > 0 {
		are := "are"
		if impossible == 1 {
			are = "is"
		}
		texts = append(texts, fmt.Sprintf("%d of %s %s not possible", impossible, env.Number(hops, "planned hop", "planned hops"), are))
	}
	if incomplete > 0 {
		texts = append(texts, env.Number(incomplete, "release is", "releases are")+" incomplete")
	}
	for _, p := range r.Problems {
		texts = append(texts, p.Problem)
	}
	if len(texts) == 0 {
		return nil
	}
	return advice.New(advice.Mismatch, "", "%s", "with this mirror "+strings.Join(texts, ", "))
}
