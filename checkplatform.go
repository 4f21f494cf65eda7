package gantry

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
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
)

// checkPlatform checks that updates are possible with the content of a mirror.
func (e *Env) checkPlatform(ctx context.Context, o *CheckOptions) (*CheckResult, error) {
	if err := o.validatePlatform(); err != nil {
		return nil, err
	}
	destination, err := e.OpenDestination(o.Mirror, DestinationOptions{MaxNestedPaths: o.MaxNestedPaths, CheckBlobs: o.Blobs, ReadBlobs: o.ReadBlobs})
	if err != nil {
		return nil, err
	}
	c := &platformCheck{env: e, options: o, target: destination.Registry()}
	report, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	return &CheckResult{Platform: report}, platformError(report)
}

// validatePlatform returns an error if options are missing or contradict each other.
func (o *CheckOptions) validatePlatform() error {
	given := 0
	for _, is := range []bool{o.Config != "", o.Plan != "", len(o.From) > 0 || o.To != ""} {
		if is {
			given++
		}
	}
	switch {
	case len(o.Catalogs) > 0 || !strings.HasPrefix(o.Mirror, RegistryScheme):
		return inputHint("write docker://HOST[:PORT][/PREFIX]", "updates of the platform are checked with one mirror")
	case given > 1:
		return inputHint("set one of Options.Config, Options.Plan, and Options.From with Options.To", "the updates to check with %s are given twice", o.Mirror)
	case (len(o.From) > 0) != (o.To != ""):
		return inputHint("set both", "Options.From and Options.To are the ends of an update")
	case o.To == "" && (o.Channel != "" || o.Arch != ""):
		return inputf("Options.Channel and Options.Arch are for Options.From and Options.To; a plan has its own")
	case o.To != "" && len(o.ReleaseKeys) > 0:
		return inputHint("check a plan", "Options.ReleaseKeys is not for Options.From and Options.To: clusters verify an update with the keys of the release that they run")
	case len(o.ClusterExtension)+len(o.ClusterCatalog) > 0 || o.ClusterVersion != "":
		return inputHint("check operators in another run", "options for operators cannot be combined with a check of the platform")
	case o.Selection.any() && o.Config == "":
		return errNoSelection()
	}
	return nil
}

// A platformCheck is a check of platform updates.
type platformCheck struct {
	env     *Env
	options *CheckOptions
	target  *RegistryDestination
	// configured is mirror.platform of the configuration; nil without one.
	configured *imageset.Releases
}

func (c *platformCheck) run(ctx context.Context) (*proof.Report, error) {
	if c.options.To != "" {
		return c.runVersions(ctx)
	}
	var plans []*plan.Plan
	err := c.target.during(ctx, c.target.Prefix, false, func(ctx context.Context) (err error) {
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

// runVersions checks the updates from CheckOptions.From to CheckOptions.To.
func (c *platformCheck) runVersions(ctx context.Context) (*proof.Report, error) {
	var arches []release.Arch
	if c.options.Arch != "" {
		arch, err := release.ParseArch(c.options.Arch)
		if err != nil {
			return nil, inputf("Options.Arch: %w", err)
		}
		arches = append(arches, arch)
	}
	var versions []semver.Version
	for _, text := range append(slices.Clone(c.options.From), c.options.To) {
		v, err := semver.Parse(text)
		if err != nil {
			return nil, inputf("%q is not a version such as 4.20.5: %w", text, err)
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
	t, workspace := c.target, workspaceDir(c.options.Workspace)
	c.env.say("reading the releases of %s", t)
	images := NewMirrorImages(t.Client)
	opts := proof.Options{
		Mirror:   t.String(),
		Releases: t.Repository(plan.ReleaseRepository).Name(), Components: t.Repository(plan.ComponentRepository).Name(), GraphData: t.Repository(plan.GraphRepository).Name(),
		Jobs: min(t.Streams, MaxReleaseReads), Now: time.Now(), IgnoreReleaseSignature: c.options.IgnoreReleaseSignature, Workspace: cmp.Or(c.options.Workspace, DefaultWorkspace),
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
			trust, err := c.env.NewUpdates(nil, c.configured, c.options.ReleaseTrust).Trust(product)
			return trust.Keyrings, err
		},
		Blobs: string(t.blobCheck()),
	}
	if t.checkBlobs {
		opts.BlobProblem = func(ctx context.Context, image string) (string, error) {
			return images.blobProblem(ctx, image, t.readBlobs)
		}
	}
	return proof.Open(ctx, images, opts)
}

// plans returns the plan of the options, or the plans with releases that the workspace copied to the
// mirror.
func (c *platformCheck) plans(ctx context.Context) ([]*plan.Plan, error) {
	o := c.options
	if o.Plan != "" {
		p, err := ReadPlan(o.Plan)
		if err == nil && len(p.Releases) == 0 {
			err = inputf("%s has no platform releases", o.Plan)
		}
		return []*plan.Plan{p}, err
	}
	selected, err := o.Selection.Load()
	if err != nil {
		return nil, err
	}
	if o.Config == "" {
		return c.env.MirroredPlans(o.Workspace, c.target)
	}
	if selected.Config.Mirror.Platform == nil {
		return nil, inputf("%s has no mirror.platform", o.Config)
	}
	c.configured = selected.Config.Mirror.Platform
	result, err := Plan(ctx, PlanOptions{Env: c.env, Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, Workspace: o.Workspace})
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
		texts = append(texts, fmt.Sprintf("%d of %s %s not possible", impossible, number(hops, "planned hop", "planned hops"), are))
	}
	if incomplete > 0 {
		texts = append(texts, number(incomplete, "release is", "releases are")+" incomplete")
	}
	for _, p := range r.Problems {
		texts = append(texts, p.Problem)
	}
	if len(texts) == 0 {
		return nil
	}
	return advice.New(advice.Mismatch, "", "%s", "with this mirror "+strings.Join(texts, ", "))
}
