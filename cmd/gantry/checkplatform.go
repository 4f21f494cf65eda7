package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// platformFlags are those of gantry check --platform.
type platformFlags struct {
	releaseFlags
	platform       bool
	from           []string
	to             string
	channel        string
	arch           string
	maxNestedPaths int

	own *pflag.FlagSet // those that nothing but --platform uses
}

func (f *platformFlags) addFlags(all *pflag.FlagSet, sides *sides) {
	all.BoolVar(&f.platform, "platform", false, "prove of a mirror that the planned updates of the platform are possible with what it has")
	f.own = pflag.NewFlagSet("", pflag.ContinueOnError)
	f.releaseFlags.addFlags(f.own)
	f.own.StringSliceVar(&f.from, "from", nil, "with --platform and --to: a version that clusters run (may be repeated, or with commas)")
	f.own.StringVar(&f.to, "to", "", "with --platform and --from: the version that they are to be updated to")
	f.own.StringVar(&f.channel, "channel", "", "with --to: the channel that clusters follow (default: one of the mirror's graph data that has the version, stable first)")
	f.own.StringVar(&f.arch, "arch", "amd64", "with --to: the architecture of the clusters, such as arm64 or multi")
	f.own.IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "with --platform: path components that the mirror allows, as it was mirrored with; 0 is no limit")
	sides.dest.addFlags(f.own, "dest", "mirror of --platform")
	all.AddFlagSet(f.own)
}

// stray is an error where flags are given that only --platform uses.
func (f *platformFlags) stray() error {
	var err error
	f.own.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && err == nil {
			err = usagef("--%s is for --platform", flag.Name)
		}
	})
	return err
}

// checkPlatform proves that updates are possible with what a mirror has.
func (a *app) checkPlatform(ctx context.Context, f checkFlags, args []string) error {
	if err := f.checkPlatform(args); err != nil {
		return err
	}
	named, err := a.target(args[0], targetOptions{sides: &f.sides, maxNestedPaths: f.maxNestedPaths})
	if err != nil {
		return err
	}
	t := named.registry()
	c := &platformCheck{app: a, flags: &f, target: t}
	report, err := c.run(ctx)
	var impossible *proof.ImpossibleError
	switch {
	case errors.As(err, &impossible) && impossible.Hint != "":
		return &hintError{&mismatchError{impossible.Problem}, ": ", impossible.Hint}
	case errors.As(err, &impossible):
		return &mismatchError{impossible.Problem}
	case err != nil:
		return err
	}
	if err := a.showPlatformCheck(f.form, report); err != nil {
		return err
	}
	return platformVerdict(report)
}

// checkPlatform says which flags do not go together.
func (f *checkFlags) checkPlatform(args []string) error {
	given := 0
	for _, is := range []bool{f.config != "", f.plan != "", len(f.from) > 0 || f.to != ""} {
		if is {
			given++
		}
	}
	switch {
	case len(args) != 1 || !strings.HasPrefix(args[0], dockerScheme):
		return usageHint("write docker://HOST[:PORT][/PREFIX]", "--platform looks at one mirror")
	case given > 1:
		return usageHint("give one of -c imageset.yaml, --plan plan.json and --from VERSION --to VERSION", "which updates should be possible with %s", args[0])
	case (len(f.from) > 0) != (f.to != ""):
		return usageHint("give both", "--from and --to are the ends of an update")
	case f.to == "" && (f.channel != "" || f.own.Changed("arch")):
		return usagef("--channel and --arch are for --from and --to: a plan says them itself")
	case f.to != "" && len(f.keys) > 0:
		return usageHint("check a plan", "--release-key says whose signatures count when releases are mirrored, and with --from and --to those count that clusters accept by the keys of the release that they run")
	case len(f.extensionFiles)+len(f.catalogFiles) > 0 || f.clusterVersion != "":
		return usageHint("check operators in a run of its own", "--platform asks about updates of the platform, and the flags about operators")
	case f.given() && f.config == "":
		return errNoSelection
	}
	return nil
}

// A platformCheck is one run of gantry check --platform.
type platformCheck struct {
	*app
	flags  *checkFlags
	target *registryTarget
	// configured is mirror.platform of -c; nil without.
	configured *imageset.Releases
}

func (c *platformCheck) run(ctx context.Context) (*proof.Report, error) {
	f := c.flags
	if f.to != "" {
		u, err := f.update()
		if err != nil {
			return nil, err
		}
		check, err := c.open(ctx)
		if err == nil {
			err = check.Versions(ctx, u.from, u.to, f.channel, u.arch)
		}
		if err != nil {
			return nil, err
		}
		return check.Report(), nil
	}
	plans, err := c.plans(ctx)
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

// A wantedUpdate is that of --from and --to.
type wantedUpdate struct {
	from []semver.Version
	to   semver.Version
	arch release.Arch
}

func (f *platformFlags) update() (u wantedUpdate, err error) {
	if u.arch, err = release.ParseArch(f.arch); err != nil {
		return u, usagef("--arch: %w", err)
	}
	for _, text := range append(slices.Clone(f.from), f.to) {
		v, err := semver.Parse(text)
		if err != nil {
			return u, usagef("%q is no version such as 4.20.5: %w", text, err)
		}
		u.from = append(u.from, v)
	}
	last := len(u.from) - 1
	u.from, u.to = u.from[:last], u.from[last]
	return u, nil
}

// open reads what the mirror has of releases.
func (c *platformCheck) open(ctx context.Context) (*proof.Check, error) {
	t := c.target
	c.say("reading the releases of %s", t)
	return proof.Open(ctx, newMirrorImages(t.client), proof.Options{
		Mirror:   t.String(),
		Releases: t.Name(plan.ReleaseRepository).Name(), Components: t.Name(plan.ComponentRepository).Name(), GraphData: t.Name(plan.GraphRepository).Name(),
		Jobs: min(t.streams, maxReleaseReads), Now: time.Now(), IgnoreSignatures: c.flags.ignore, Workspace: c.flags.workspace,
		ConfigMap: func(image digest.Digest) (file string, text []byte, err error) {
			file, text, err = workspace.ReadResource(strings.TrimPrefix(c.flags.workspace, fileScheme), t.key(), resources.SignatureFile(image))
			if errors.Is(err, workspace.ErrNoResources) {
				err = proof.ErrNoConfigMaps
			}
			return file, text, err
		},
		Keyrings: func(product release.Product) ([]gpg.Keyring, error) {
			trust, err := c.updates(nil, c.configured, c.flags.releaseFlags).trust(product)
			return trust.Keyrings, err
		},
	})
}

// plans are those that the flags name, or all that the workspace brought to the
// mirror. Plans without releases are none of them.
func (c *platformCheck) plans(ctx context.Context) ([]*plan.Plan, error) {
	f := c.flags
	if f.plan != "" {
		p, err := readPlan(f.plan)
		if err == nil && len(p.Releases) == 0 {
			err = usagef("%s has no platform releases", f.plan)
		}
		return []*plan.Plan{p}, err
	}
	in := inputs{selectFlags: f.selectFlags, releaseFlags: f.releaseFlags, workspace: f.workspace}
	if f.config != "" {
		if err := in.load(); err != nil {
			return nil, err
		}
		if in.loaded.Mirror.Platform == nil {
			return nil, usagef("%s has no mirror.platform", f.config)
		}
		c.configured = in.loaded.Mirror.Platform
	}
	s, err := c.app.open(in, &f.sides)
	if err != nil {
		return nil, err
	}
	defer c.leave(s)
	if f.config != "" {
		p, err := c.makePlan(ctx, in, s, &f.sides)
		return []*plan.Plan{p}, err
	}
	return s.mirroredPlans(c.target)
}

// mirroredPlans are the plans with releases of what was mirrored to t, as the
// workspace keeps them.
func (s *session) mirroredPlans(t *registryTarget) ([]*plan.Plan, error) {
	_, held, err := s.holdings(t, "")
	if err != nil {
		return nil, err
	}
	var plans []*plan.Plan
	for name, h := range held {
		if len(h.Releases) == 0 {
			continue
		}
		text, err := s.OpenImported(t.key(), name)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = s.OpenPlan(name)
		}
		if err != nil {
			return nil, usageHint("give it with --plan", "what was mirrored to %s as %s is not known any more: %w", t, name, err)
		}
		p, err := plan.Read(text)
		if err = errors.Join(err, text.Close()); err != nil {
			return nil, fmt.Errorf("reading the plan %s of the workspace: %w", name, err)
		}
		plans = append(plans, p)
	}
	if len(plans) == 0 {
		return nil, usageHint("give -c imageset.yaml, --plan plan.json or --from VERSION --to VERSION, or the --workspace from which it was mirrored",
			"which updates should be possible with %s? nothing in the workspace says that releases were mirrored to it", t)
	}
	slices.SortFunc(plans, func(a, b *plan.Plan) int { return strings.Compare(a.Name, b.Name) })
	return plans, nil
}
