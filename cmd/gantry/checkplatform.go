package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/pkg/remote"
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

// A platformReport is what gantry check --platform found.
type platformReport struct {
	Version int    `json:"version"`
	Mirror  string `json:"mirror"`
	// GraphData is the image of graph data by digest; "" where there is none.
	GraphData string          `json:"graphData,omitempty"`
	Updates   []provedUpdate  `json:"updates"`
	Releases  []provedRelease `json:"releases"`
	// Problems are of no single release or hop.
	Problems []platformProblem `json:"problems,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
}

// A provedUpdate is a path that clusters take.
type provedUpdate struct {
	Plan    string      `json:"plan,omitempty"`
	Channel string      `json:"channel"`
	Arch    string      `json:"arch"`
	From    string      `json:"from"`
	To      string      `json:"to"`
	Hops    []provedHop `json:"hops"`
}

// A provedHop is possible where it has no problem, and its releases have none.
type provedHop struct {
	From     string            `json:"from"`
	To       string            `json:"to"`
	Risks    []string          `json:"risks,omitempty"`
	Possible bool              `json:"possible"`
	Problems []platformProblem `json:"problems,omitempty"`
}

// A provedRelease is a release that is whole where it has no problem.
type provedRelease struct {
	Name     string            `json:"name"`
	Digest   digest.Digest     `json:"digest"`
	Problems []platformProblem `json:"problems,omitempty"`
}

// A platformProblem is a piece that is missing: what, where, and what to do.
type platformProblem struct {
	Problem string `json:"problem"`
	At      string `json:"at,omitempty"`
	Hint    string `json:"hint"`
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
	c := &platformCheck{app: a, flags: &f, target: t, images: newMirrorImages(t.client), report: platformReport{
		Version: 1, Mirror: t.String(), Updates: []provedUpdate{}, Releases: []provedRelease{},
	}, signatures: map[digest.Digest][][]byte{}, keys: map[digest.Digest]proof.Keys{}}
	if err := c.run(ctx); err != nil {
		return err
	}
	if err := a.showPlatformCheck(f.form, &c.report); err != nil {
		return err
	}
	return c.report.verdict()
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
	case f.to != "" && (f.ignore || len(f.keys) > 0):
		return usageHint("check a plan", "--release-key and --ignore-release-signature say whose signatures count, and --from and --to look at none")
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
	images *mirrorImages
	mirror proof.Mirror
	report platformReport
	// configured is mirror.platform of -c; nil without.
	configured *imageset.Releases
	// signatures are those that clusters will find, by release image; one whose
	// signatures are missing, or wrong, is not there. keys are by release image, too.
	signatures map[digest.Digest][][]byte
	keys       map[digest.Digest]proof.Keys
}

func (c *platformCheck) run(ctx context.Context) error {
	var plans []*plan.Plan
	if c.flags.to == "" {
		var err error
		if plans, err = c.plans(ctx); err != nil {
			return err
		}
	}
	c.say("reading the releases of %s", c.target)
	if err := c.read(ctx); err != nil {
		return err
	}
	if c.flags.to != "" {
		return c.proveVersions(ctx)
	}
	for _, p := range plans {
		if err := c.prove(ctx, p); err != nil {
			return err
		}
	}
	return nil
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
	s, err := c.open(in, &f.sides)
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

// read reads what the mirror has of releases, and its graph data.
func (c *platformCheck) read(ctx context.Context) error {
	repository := c.target.Name(plan.ReleaseRepository)
	tags, err := c.target.client.Tags(ctx, repository, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.mirror.Releases, err = proof.Read(ctx, c.images, repository.Name(), tags, min(c.target.streams, maxReleaseReads)); err != nil {
		return err
	}
	image := c.target.Name(plan.GraphRepository).WithTag(graphTag)
	desc, err := c.target.client.Resolve(ctx, image)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	c.report.GraphData = image.Repository().WithDigest(desc.Digest).String()
	c.mirror.Data, err = graphdata.ReadImage(ctx, c.images, c.report.GraphData)
	if err != nil && errors.Is(err, fs.ErrNotExist) {
		c.report.Problems = append(c.report.Problems, platformProblem{Problem: err.Error(), At: c.report.GraphData, Hint: "mirror again to bring it"})
		return nil
	}
	return err
}

const (
	// graphTag is the tag of the newest image of graph data.
	graphTag = "latest"
	// maxReleaseReads is how many release images are read at a time.
	maxReleaseReads = 16
)

// mirrorImages reads images of a mirror as they are there now: nothing comes out of
// the workspace's cache. A manifest is asked for once. It is a payload.Source.
type mirrorImages struct {
	client *remote.Client

	mu   sync.Mutex
	read map[string]manifestText // by repository and digest
}

type manifestText struct {
	desc ocispec.Descriptor
	raw  []byte
}

func newMirrorImages(client *remote.Client) *mirrorImages {
	return &mirrorImages{client: client, read: map[string]manifestText{}}
}

func (m *mirrorImages) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	if d != "" {
		ref = ref.Repository().WithDigest(d)
	}
	m.mu.Lock()
	known, ok := m.read[ref.String()]
	m.mu.Unlock()
	if ok {
		return known.desc, known.raw, nil
	}
	desc, raw, err := m.client.Manifest(ctx, ref)
	if err == nil {
		m.mu.Lock()
		m.read[ref.Repository().WithDigest(desc.Digest).String()] = manifestText{desc, raw}
		m.mu.Unlock()
	}
	return desc, raw, err
}

func (m *mirrorImages) Blob(ctx context.Context, source string, desc ocispec.Descriptor) (io.ReadCloser, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return nil, err
	}
	return m.client.Blob(ctx, ref.Repository(), desc, 0)
}
