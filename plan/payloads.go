package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/payload"
)

// platform is what becomes of mirror.platform while a plan is made.
type platform struct {
	cfg      *imageset.Releases
	from     From
	opts     Options
	blocked  []imageset.Blocked
	payloads []*taking
	updates  []UpdatePath
	graphs   []UpdateGraph
	data     *GraphData // nil where none is asked for
	notes    []string
}

// taking is a release that is taken: its payload, and what the plan says of it.
type taking struct {
	*chosenRelease
	payload *payload.Payload
	entry   Release
	notes   []string
}

// readPlatform chooses the releases, verifies and reads their payloads, and builds
// the image of graph data.
func readPlatform(ctx context.Context, cfg *imageset.Releases, blocked []imageset.Blocked, from From, opts Options) (*platform, error) {
	p := &platform{cfg: cfg, from: from, opts: opts, blocked: blocked}
	if cfg == nil {
		return p, nil
	}
	if from.Updates == nil {
		return nil, &InputError{fmt.Errorf("%s: platform releases cannot be planned here: nothing tells of them", cfg.Pos)}
	}
	c, err := p.choose(ctx)
	if c != nil {
		for _, text := range c.warnings {
			opts.Warn(text)
		}
	}
	if err != nil {
		return nil, err
	}
	p.updates, p.graphs, p.notes = c.updates, c.graphs, c.notes
	p.payloads = make([]*taking, len(c.releases))
	err = eachOf(ctx, len(c.releases), opts.Jobs, func(ctx context.Context, i int) (err error) {
		p.payloads[i], err = p.read(ctx, c.releases[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, t := range p.payloads {
		p.notes = append(p.notes, t.notes...)
	}
	if err := p.gate(ctx); err != nil {
		return nil, err
	}
	if cfg.Graph {
		if err := p.buildGraph(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// choose finds the releases of the channels, or the one that is named.
func (p *platform) choose(ctx context.Context) (*choice, error) {
	if p.cfg.Release == "" {
		return choose(ctx, p.cfg, p.from.Updates, p.opts.Clusters, p.blocked)
	}
	ref, err := reference.Parse(p.cfg.Release)
	if err != nil {
		return nil, &InputError{fmt.Errorf("%s: release: %w", p.cfg.Pos, err)}
	}
	if pattern, ok := blockedBy(p.blocked, ref.String(), ReleaseRepository); ok {
		return nil, &InputError{fmt.Errorf("%s: release %s is left out by blockedImages (%s): take out one of the two", p.cfg.Pos, p.cfg.Release, pattern)}
	}
	desc, _, err := p.from.Images.Manifest(ctx, ref.String(), ref.Digest)
	if err != nil {
		return nil, fmt.Errorf("%s: reading release image %s: %w", p.cfg.Pos, p.cfg.Release, err)
	}
	named := &chosenRelease{product: release.OCP, payload: ref.WithDigest(desc.Digest).String(), reasons: []ReleaseReason{{Reason: reasonRelease}}}
	if strings.HasPrefix(ref.Path, "okd/") || strings.HasPrefix(ref.Path, "openshift/okd") || strings.Contains(ref.Tag, "okd") {
		named.product = release.OKD
	}
	return &choice{releases: []*chosenRelease{named}}, nil
}

// read verifies and reads one payload. Its signatures come first: nothing of what
// is not trusted is looked into.
func (p *platform) read(ctx context.Context, c *chosenRelease) (*taking, error) {
	p.opts.Log.Info("reading release", "ref", c.payload)
	ref, err := reference.Parse(c.payload)
	if err != nil || ref.Digest == "" {
		return nil, fmt.Errorf("release %s: its payload %q is no reference by digest", c.version, c.payload)
	}
	t := &taking{chosenRelease: c, entry: Release{Product: c.product, Source: ref.WithDigest(ref.Digest).String(), Digest: ref.Digest, Reasons: c.reasons}}
	if err := p.verify(ctx, t, ref.Digest); err != nil {
		return nil, err
	}
	if t.payload, err = payload.Read(ctx, p.from.Images, t.entry.Source, ref.Digest); err != nil {
		return nil, c.wrong(err)
	}
	if t.payload.Shard {
		return nil, fmt.Errorf("%s is one image of release %s for all architectures, not the release: name the list that it is in", t.entry.Source, t.payload.Version)
	}
	if c.version == "" { // it was named by its reference
		c.version, c.arch = t.payload.Version, t.payload.Arch
	}
	switch {
	case t.payload.Version != c.version:
		return nil, fmt.Errorf("the update graph calls %s release %s, but it calls itself %s", t.entry.Source, c.version, t.payload.Version)
	case t.payload.Arch != c.arch:
		return nil, fmt.Errorf("the update graph for %s has %s as release %s, but that is for %s", c.arch, t.entry.Source, c.version, t.payload.Arch)
	}
	for _, child := range t.payload.Children {
		// Shards carry signatures of their own, which clusters do not ask for.
		if err := p.verifyShard(ctx, t, child); err != nil {
			return nil, err
		}
	}
	t.entry.Version, t.entry.Arch, t.entry.URL = c.version, c.arch, t.payload.URL
	t.entry.Repository, t.entry.Tag = ReleaseRepository, t.name()
	return t, nil
}

// wrong says which release an error is about, where that is known already.
func (c *chosenRelease) wrong(err error) error {
	if c.version == "" {
		return err
	}
	return fmt.Errorf("release %s: %w", c.name(), err)
}

func (p *platform) verify(ctx context.Context, t *taking, d digest.Digest) error {
	if p.opts.IgnoreReleaseSignatures {
		t.entry.Unverified = true
		return nil
	}
	bodies, err := p.from.Updates.Signatures(ctx, t.product, d)
	if err != nil {
		return t.wrong(fmt.Errorf("verifying %s: %w", t.entry.Source, err))
	}
	for _, body := range bodies {
		t.entry.Signatures = append(t.entry.Signatures, Signature{Digest: d, Body: body})
	}
	return nil
}

// verifyShard adds the signatures of an image of a list, which the signature of
// the list vouches for already: where there are none, none are needed, and where none is
// good, or no store says, that is noted.
func (p *platform) verifyShard(ctx context.Context, t *taking, shard ocispec.Descriptor) error {
	if p.opts.IgnoreReleaseSignatures {
		return nil
	}
	bodies, err := p.from.Updates.Signatures(ctx, t.product, shard.Digest)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, release.ErrUnsigned):
	case err != nil:
		t.notes = append(t.notes, fmt.Sprintf("release %s: no signature of its image for %s is taken along; clusters ask for that of the list, which is good, but look what is wrong here: %s",
			t.name(), strings.Join(platformsOf([]ocispec.Descriptor{shard}), ""), strings.NewReplacer(":\n", ": ", "\n", "; ").Replace(err.Error())))
	}
	for _, body := range bodies {
		t.entry.Signatures = append(t.entry.Signatures, Signature{Digest: shard.Digest, Body: body})
	}
	return nil
}

// collect asks for the payloads and all that they name.
func (p *platform) collect(ws *wishes) error {
	for _, t := range p.payloads {
		if err := p.collectPayload(ws, t); err != nil {
			return err
		}
	}
	return p.collectGraph(ws)
}

func (p *platform) collectPayload(ws *wishes, t *taking) error {
	name := t.name()
	w := wish{platforms: p.cfg.Platforms, pos: p.cfg.Pos}
	w.kind, w.repo, w.tags, w.because = ReleaseImage, ReleaseRepository, []string{name}, []Because{{Release: name}}
	if err := ws.addText(t.entry.Source, w); err != nil {
		return err
	}
	w.kind, w.repo = ComponentImage, ComponentRepository
	for _, c := range t.payload.Components {
		w.tags, w.because = nil, nil
		for _, part := range c.Names {
			w.tags = append(w.tags, name+"-"+part)
			w.because = append(w.because, Because{Release: name, Name: part})
		}
		if err := ws.addText(c.Ref, w); err != nil {
			return fmt.Errorf("release %s: component %s: %w", name, c.Names[0], err)
		}
	}
	if !p.cfg.KubeVirtContainer {
		return nil
	}
	disks, err := t.payload.KubeVirt()
	if err != nil {
		return err
	}
	found := false
	w.kind, w.platforms = BootImage, nil
	for _, arch := range slices.Sorted(maps.Keys(disks)) {
		ref := disks[arch]
		if !p.boots(t, arch) {
			continue
		}
		found = true
		tag := name + "-" + kubeVirtName
		if t.arch == release.Multi {
			tag += "-" + arch.Suffix()
		}
		w.tags, w.because = []string{tag}, []Because{{Release: name, Name: strings.TrimPrefix(tag, name+"-")}}
		if err := ws.addText(ref, w); err != nil {
			return fmt.Errorf("release %s: boot image for %s: %w", name, arch, err)
		}
	}
	if !found {
		p.notes = append(p.notes, fmt.Sprintf("release %s names no boot image of KubeVirt for what is mirrored of it (kubeVirtContainer)", name))
	}
	return nil
}

// kubeVirtName is the component that a disk image is called after.
const kubeVirtName = "kube-virt-container"

// boots reports whether machines of that architecture are started with what is
// taken of the release.
func (p *platform) boots(t *taking, arch release.Arch) bool {
	if t.arch != release.Multi {
		return arch == t.arch
	}
	return len(p.cfg.Platforms) == 0 || slices.ContainsFunc(p.cfg.Platforms, func(x imageset.Platform) bool { return x.Architecture == string(arch) })
}

// gate notes on the paths what administrators have to acknowledge before a hop to
// another minor version, as the release that is left says it.
func (p *platform) gate(ctx context.Context) error {
	left := map[string]bool{} // the releases that such hops lead away from
	for _, u := range p.updates {
		for _, h := range u.Hops {
			if minorOf(h.From) != minorOf(h.To) {
				left[release.Name(h.From, u.Arch)] = true
			}
		}
	}
	gates := make([][]payload.Gate, len(p.payloads))
	err := eachOf(ctx, len(p.payloads), p.opts.Jobs, func(ctx context.Context, i int) (err error) {
		if t := p.payloads[i]; left[t.name()] {
			gates[i], err = t.payload.Gates(ctx, p.from.Images)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, u := range p.updates {
		for j := range u.Hops {
			h := &u.Hops[j]
			if minorOf(h.From) == minorOf(h.To) {
				continue
			}
			at := slices.IndexFunc(p.payloads, func(t *taking) bool { return t.name() == release.Name(h.From, u.Arch) })
			for _, g := range gates[at] { // every release of a path is taken
				if g.Minor == minorOf(h.From) {
					h.Acks = append(h.Acks, Ack{Name: g.Name, Message: g.Message})
				}
			}
		}
	}
	return nil
}

// minorOf is the minor version of one that parses: "4.20".
func minorOf(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// remark notes which releases are mirrored without parts, since blockedImages leaves
// those out.
func (p *platform) remark(blocked []Blocked) {
	parts := map[string][]string{}
	for _, b := range blocked {
		for _, why := range b.Because {
			if why.Release != "" {
				parts[why.Release] = append(parts[why.Release], why.Name)
			}
		}
	}
	for name, all := range parts {
		slices.Sort(all)
		p.notes = append(p.notes, fmt.Sprintf("release %s is mirrored without what blockedImages leaves out of it: %s; clusters that need that cannot be installed with it or updated to it",
			name, few(all)))
	}
}

// enter writes the releases into the plan, whose images are placed.
func (p *platform) enter(plan *Plan) {
	for _, t := range p.payloads {
		plan.Releases = append(plan.Releases, t.entry)
	}
	slices.SortFunc(plan.Releases, func(a, b Release) int { return strings.Compare(a.Name(), b.Name()) })
	if p.opts.IgnoreReleaseSignatures && len(p.payloads) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("nobody has checked who made %s (--ignore-release-signature): nothing says that they are what the vendor built, and clusters find no signatures, so that they update with --force alone",
			count(len(p.payloads), "release", "releases")))
	}
	plan.Updates, plan.UpdateGraphs, plan.GraphData = p.updates, p.graphs, p.data
	plan.Notes = append(plan.Notes, p.notes...)
}

// images is how many images are in every plan of the releases: without them, the
// plan is not made at all.
func (p *platform) images() int {
	n := len(p.payloads)
	if p.data != nil {
		n++
	}
	return n
}
