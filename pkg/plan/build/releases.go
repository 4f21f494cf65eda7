package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// platformReleases are the platform releases of a plan. The zero value has none.
type platformReleases struct {
	cfg       *imageset.Releases
	payloads  []selectedRelease
	updates   []plan.UpdatePath
	graphs    []plan.UpdateGraph
	graphData *plan.GraphData // nil if none is requested
	notes     []string
}

// A selectedRelease is a release with its payload, and its entry in the plan.
type selectedRelease struct {
	chosenRelease
	payload *payload.Payload
	entry   plan.Release
	notes   []string
	samples []payload.Sample // the selected ones
}

// A releaseReader reads the releases of mirror.platform.
type releaseReader struct {
	cfg     *imageset.Releases
	blocked []imageset.Blocked
	samples []imageset.Sample
	sources Sources
	opts    Options
}

// readReleases chooses the releases, verifies and reads their payloads, and builds the image of graph data.
func readReleases(ctx context.Context, mirror imageset.Mirror, sources Sources, opts Options) (platformReleases, error) {
	cfg := mirror.Platform
	if cfg == nil {
		return platformReleases{}, nil
	}
	if sources.Releases == nil {
		return platformReleases{}, advice.New(advice.Input, "set Sources.Releases", "%s: no source for platform releases", cfg.Pos)
	}
	r := releaseReader{cfg: cfg, blocked: mirror.BlockedImages, samples: mirror.Samples, sources: sources, opts: opts}
	chosen, err := r.choose(ctx)
	if chosen != nil {
		for _, text := range chosen.warnings {
			opts.Warn(text)
		}
	}
	if err != nil {
		return platformReleases{}, err
	}
	payloads, err := collect(ctx, len(chosen.releases), opts.Jobs, func(ctx context.Context, i int) (selectedRelease, error) {
		return r.read(ctx, *chosen.releases[i])
	})
	if err != nil {
		return platformReleases{}, err
	}
	notes, err := r.addSamples(ctx, payloads)
	if err != nil {
		return platformReleases{}, err
	}
	notes = append(notes, chosen.notes...)
	for _, p := range payloads {
		notes = append(notes, p.notes...)
	}
	updates, err := r.withAcks(ctx, chosen.updates, payloads)
	if err != nil {
		return platformReleases{}, err
	}
	all := platformReleases{cfg: cfg, payloads: payloads, updates: updates, graphs: chosen.graphs, notes: notes}
	if cfg.Graph {
		data, graphNotes, err := r.buildGraphData(ctx, payloads)
		if err != nil {
			return platformReleases{}, err
		}
		all.graphData, all.notes = data, append(all.notes, graphNotes...)
	}
	if opts.IgnoreReleaseSignature && len(payloads) > 0 {
		all.notes = append(all.notes, fmt.Sprintf("the signatures of %s were not verified: their origin is unknown, and clusters update to them only with oc adm upgrade --force; make the plan again with verification",
			count(len(payloads), "release", "releases")))
	}
	return all, nil
}

// choose selects the releases of the channels, or the one that the configuration names.
func (r releaseReader) choose(ctx context.Context) (*releaseSelection, error) {
	if r.cfg.Release == "" {
		return r.chooseOld(ctx)
	}
	ref, err := reference.Parse(r.cfg.Release)
	if err != nil {
		return nil, inputErrorf("%s: release: %w", r.cfg.Pos, err)
	}
	if pattern, ok := imageset.BlockedBy(r.blocked, ref.String(), plan.ReleaseRepository); ok {
		return nil, advice.New(advice.Input, "remove one of the two", "%s: release %s is blocked by blockedImages (%s)", r.cfg.Pos, r.cfg.Release, pattern)
	}
	desc, _, err := r.sources.Images.Manifest(ctx, ref.String(), ref.Digest)
	if err != nil {
		return nil, fmt.Errorf("%s: reading release image %s: %w", r.cfg.Pos, r.cfg.Release, err)
	}
	named := &chosenRelease{product: release.OCP, source: ref.WithDigest(desc.Digest).String(), reasons: []plan.ReleaseReason{{Reason: reasonRelease}}}
	if strings.HasPrefix(ref.Path, "okd/") || strings.HasPrefix(ref.Path, "openshift/okd") || strings.Contains(ref.Tag, "okd") {
		named.product = release.OKD
	}
	return &releaseSelection{releases: []*chosenRelease{named}}, nil
}

// read verifies and reads one payload. It verifies the signatures first, before it reads any content.
func (r releaseReader) read(ctx context.Context, c chosenRelease) (selectedRelease, error) {
	r.opts.Log.Info("reading release", "ref", c.source)
	ref, err := reference.Parse(c.source)
	if err != nil || ref.Digest == "" {
		return selectedRelease{}, fmt.Errorf("release %s: its payload %q is not a reference by digest", c.version, c.source)
	}
	source := ref.WithDigest(ref.Digest).String()
	signatures, err := r.verify(ctx, c, source, ref.Digest)
	if err != nil {
		return selectedRelease{}, err
	}
	p, err := payload.Read(ctx, r.sources.Images, source, ref.Digest)
	if err != nil {
		return selectedRelease{}, c.wrap(err)
	}
	if p.Shard {
		return selectedRelease{}, advice.New(advice.Failure, "use the index that lists it", "%s is the image of release %s for one architecture, part of a multi payload", source, p.Version)
	}
	if c.version == "" { // it was named by its reference
		c.version, c.arch = p.Version, p.Arch
	}
	switch {
	case p.Version != c.version:
		return selectedRelease{}, fmt.Errorf("%s is release %s in the update graph, but release %s by its own metadata", source, c.version, p.Version)
	case p.Arch != c.arch:
		return selectedRelease{}, fmt.Errorf("the update graph for %s has %s as release %s, but its architecture is %s", c.arch, source, c.version, p.Arch)
	}
	s := selectedRelease{chosenRelease: c, payload: p}
	for _, child := range p.Children {
		// The images of a multi payload have signatures of their own, which clusters do not
		// require.
		more, note, err := r.verifyChild(ctx, c, child)
		if err != nil {
			return selectedRelease{}, err
		}
		signatures = append(signatures, more...)
		if note != "" {
			s.notes = append(s.notes, note)
		}
	}
	s.entry = plan.Release{
		Product: c.product, Version: c.version, Arch: c.arch, Source: source, Digest: ref.Digest,
		Repository: plan.ReleaseRepository, Tag: c.name(), Reasons: c.reasons, URL: p.URL,
		Signatures: signatures, Unverified: r.opts.IgnoreReleaseSignature,
	}
	list, notes, err := r.selectTools(p)
	s.entry.Tools, s.notes = list, append(s.notes, notes...)
	return s, err
}

// wrap adds the name of the release to an error, if it is known already.
func (c *chosenRelease) wrap(err error) error {
	if c.version == "" {
		return err
	}
	return fmt.Errorf("release %s: %w", c.name(), err)
}

// verify returns the verified signatures of a payload. At least one is required.
func (r releaseReader) verify(ctx context.Context, c chosenRelease, source string, d digest.Digest) ([]plan.Signature, error) {
	if r.opts.IgnoreReleaseSignature {
		return nil, nil
	}
	bodies, err := r.sources.Releases.Signatures(ctx, c.product, d)
	if err != nil {
		return nil, c.wrap(fmt.Errorf("verifying %s: %w", source, err))
	}
	return signaturesOf(d, bodies), nil
}

// verifyChild returns the verified signatures of one image of a multi payload. None is required, because the signature of the
// index covers it. If signatures exist and none is valid, or no signature store answers, it returns a note.
func (r releaseReader) verifyChild(ctx context.Context, c chosenRelease, child ocispec.Descriptor) (signatures []plan.Signature, note string, err error) {
	if r.opts.IgnoreReleaseSignature {
		return nil, "", nil
	}
	bodies, err := r.sources.Releases.Signatures(ctx, c.product, child.Digest)
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case errors.Is(err, release.ErrUnsigned):
	case err != nil:
		note = fmt.Sprintf("release %s: the signature of its image for %s is not mirrored; clusters require only the signature of the index, which is valid; check the signature store: %s",
			c.name(), strings.Join(platformsOf([]ocispec.Descriptor{child}), ""), strings.NewReplacer(":\n", ": ", "\n", "; ").Replace(err.Error()))
	}
	return signaturesOf(child.Digest, bodies), note, nil
}

func signaturesOf(d digest.Digest, bodies [][]byte) []plan.Signature {
	return elements.Map(bodies, func(body []byte) plan.Signature { return plan.Signature{Digest: d, Body: body} })
}

// withAcks returns the update paths with the gates that administrators have to acknowledge before
// a hop to another minor version. The release that a hop starts from defines them.
func (r releaseReader) withAcks(ctx context.Context, updates []plan.UpdatePath, payloads []selectedRelease) ([]plan.UpdatePath, error) {
	start := map[string]bool{} // names of the releases that such hops start from
	for _, u := range updates {
		for _, h := range u.Hops {
			if h.NextMinor() {
				start[release.Name(h.From, u.Arch)] = true
			}
		}
	}
	gates, err := collect(ctx, len(payloads), r.opts.Jobs, func(ctx context.Context, i int) ([]payload.Gate, error) {
		if p := payloads[i]; start[p.name()] {
			return p.payload.Gates(ctx, r.sources.Images)
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	all := slices.Clone(updates)
	for i, u := range all {
		hops := slices.Clone(u.Hops)
		for j := range hops {
			h := &hops[j]
			if !h.NextMinor() {
				continue
			}
			at := slices.IndexFunc(payloads, func(p selectedRelease) bool { return p.name() == release.Name(h.From, u.Arch) })
			for _, g := range gates[at] { // every release of a path is selected
				if g.Minor == release.Minor(h.From) {
					h.Acks = append(h.Acks, plan.Ack{Name: g.Name, Message: g.Message})
				}
			}
		}
		all[i].Hops = hops
	}
	return all, nil
}

// entries returns the releases as the plan lists them.
func (r platformReleases) entries() []plan.Release {
	all := elements.Map(r.payloads, func(p selectedRelease) plan.Release { return p.entry })
	elements.Sort(all, func(a, b plan.Release) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// imageCount returns the number of images that every plan with these releases has: the payloads and the image of graph data.
func (r platformReleases) imageCount() int {
	n := len(r.payloads)
	if r.graphData != nil {
		n++
	}
	return n
}
