package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// baseComponent is the component of a release that the image of graph data is built on: it has a
// shell and cp, and is in the mirror anyway.
const baseComponent = "cli"

// baseHint is the hint if no base of the image of graph data is available.
const baseHint = "the image of graph data is built on the component " + baseComponent + " of a mirrored release, or else on " + graphdata.BaseImage +
	": add a channel, or configure a mirror of that image in registries.conf"

// platformList is plan.Reason.List of the image of graph data.
const platformList = "platform"

// buildGraphData reads the graph data and builds the image that contains it, for the architectures
// of the releases. It returns nil if blockedImages matches the image.
func (r releaseReader) buildGraphData(ctx context.Context, payloads []selectedRelease) (*plan.GraphData, []string, error) {
	candidates := r.graphBases(payloads)
	if len(candidates) == 0 {
		return nil, []string{"graph data is not mirrored: blockedImages matches its image"}, nil
	}
	source, data, err := readGraphData(ctx, r.sources)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: graph: %w", r.cfg.Pos, err)
	}
	bases, built, notes, err := r.buildOn(ctx, data, candidates)
	if err != nil {
		if advice.Hint(err) == "" && (len(payloads) == 0 || errors.Is(err, fs.ErrNotExist)) {
			err = advice.Wrap(advice.KindOf(err), err, baseHint)
		}
		return nil, nil, fmt.Errorf("%s: graph: %w", r.cfg.Pos, err)
	}
	if bases[0], err = r.pinBase(ctx, bases[0]); err != nil {
		return nil, nil, err
	}
	made, err := inFormat(ctx, bases[0], built.Root.Digest, r.sources, r.opts.Format)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: graph: %w", r.cfg.Pos, err)
	}
	g := &plan.GraphData{Source: source, SHA256: data.Digest, Base: bases[0], Digest: made, Repository: plan.GraphRepository, Tag: "latest"}
	if len(bases) > 1 {
		g.MoreBases = bases[1:]
	}
	return g, append(notes, notesOnMissingChannels(payloads, data)...), nil
}

// buildOn builds the image on one base for all architectures, or else on the best available base of
// each architecture. It returns the bases that it used.
func (r releaseReader) buildOn(ctx context.Context, data *graphdata.Data, candidates []graphBase) (bases []string, built *image.Built, notes []string, err error) {
	var unavailable []string
	missing := fs.ErrNotExist
	for _, c := range candidates {
		if c.arch == "" && len(bases) > 0 {
			break
		}
		base, one, err := r.buildOnFirst(ctx, data, c.refs)
		switch {
		case err == nil:
			bases, built = append(bases, base), one
		case !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil:
			return nil, nil, nil, err
		default:
			unavailable = append(unavailable, string(c.arch))
			if len(c.refs) > 0 {
				missing = err
			}
			continue
		}
		if c.arch == release.Multi || c.arch == "" {
			return bases, built, notes, nil
		}
	}
	if len(bases) == 0 {
		return nil, nil, nil, missing
	}
	if len(unavailable) > 0 {
		notes = append(notes, fmt.Sprintf("the image of graph data does not run on %s: no mirrored release for that architecture has an available component %s to build it on",
			strings.Join(unavailable, ", "), baseComponent))
	}
	if len(bases) > 1 {
		built, err = graphdata.Build(ctx, r.sources.Images, data, r.sources.Store, bases[0], bases[1:]...)
	}
	return bases, built, notes, err
}

// buildOnFirst builds on the first image that is available. The error matches fs.ErrNotExist if none is.
func (r releaseReader) buildOnFirst(ctx context.Context, data *graphdata.Data, refs []string) (string, *image.Built, error) {
	err := fs.ErrNotExist
	for _, ref := range refs {
		var built *image.Built
		if built, err = graphdata.Build(ctx, r.sources.Images, data, r.sources.Store, ref); err == nil {
			return ref, built, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			break
		}
	}
	return "", nil, err
}

// notesOnMissingChannels returns notes on releases that an update service with the graph data does not offer, because the data
// does not list them in their channel: it belongs to another product or service, or is older than the update graph.
func notesOnMissingChannels(payloads []selectedRelease, data *graphdata.Data) []string {
	missing := map[string][]string{} // by channel
	for _, p := range payloads {
		v, err := semver.Parse(p.version)
		if err != nil {
			continue // no channel has it
		}
		channels := data.Channels(v, p.arch)
		for _, reason := range p.reasons {
			if reason.Channel != "" && !slices.Contains(channels, reason.Channel) && !slices.Contains(missing[reason.Channel], p.name()) {
				missing[reason.Channel] = append(missing[reason.Channel], p.name())
			}
		}
	}
	var notes []string
	for _, channel := range slices.Sorted(maps.Keys(missing)) {
		notes = append(notes, fmt.Sprintf("the graph data does not have %s in channel %s, so an update service does not offer it there; set mirror.platform.graphData to other graph data",
			shortList(missing[channel]), channel))
	}
	return notes
}

func readGraphData(ctx context.Context, sources Sources) (source string, data *graphdata.Data, err error) {
	source, tarball, err := sources.Releases.GraphData(ctx)
	if err != nil {
		return "", nil, err
	}
	if data, err = graphdata.Read(bytes.NewReader(tarball)); err != nil {
		return "", nil, fmt.Errorf("%s: %w", source, err)
	}
	return source, data, nil
}

// A graphBase lists images that the image of graph data may be built on for one architecture, the
// best first. The architecture "" means any, as a last resort.
type graphBase struct {
	arch release.Arch
	refs []string
}

// graphBases returns the possible bases: images of the releases, the one for all architectures first,
// and the default base. It excludes images that are blocked, and is empty if all of them are.
func (r releaseReader) graphBases(payloads []selectedRelease) []graphBase {
	refs := map[release.Arch][]string{}
	for _, p := range elements.Sorted(slices.Values(payloads), func(a, b selectedRelease) int { return compareVersions(b.version, a.version) }) {
		refs[p.arch] = append(refs[p.arch], p.component(baseComponent)...)
	}
	var all []graphBase
	for _, arch := range elements.Sorted(maps.Keys(refs), func(a, b release.Arch) int {
		rank := []release.Arch{release.DefaultArch, release.Multi}
		return cmp.Or(cmp.Compare(slices.Index(rank, b), slices.Index(rank, a)), cmp.Compare(a, b))
	}) {
		all = append(all, graphBase{arch, refs[arch]})
	}
	all = append(all, graphBase{"", []string{graphdata.BaseImage}})
	found := false
	for i := range all {
		all[i].refs = slices.DeleteFunc(slices.Compact(all[i].refs), func(ref string) bool {
			_, ok := imageset.BlockedBy(r.blocked, ref, plan.GraphRepository)
			return ok
		})
		found = found || len(all[i].refs) > 0
	}
	if !found {
		return nil
	}
	return all
}

// component returns the images of a component.
func (p selectedRelease) component(name string) []string {
	var refs []string
	for _, c := range p.payload.Components {
		if slices.Contains(c.Names, name) {
			refs = append(refs, c.Ref)
		}
	}
	return refs
}

// pinBase returns the reference of a base by digest.
func (r releaseReader) pinBase(ctx context.Context, base string) (string, error) {
	ref, err := reference.Parse(base)
	if err != nil || ref.Digest != "" {
		return base, err
	}
	desc, _, err := r.sources.Images.Manifest(ctx, base, "")
	if err != nil {
		return "", err
	}
	return ref.WithDigest(desc.Digest).String(), nil
}

// errGraphData means that the graph data of a plan is no longer available at its source.
var errGraphData = advice.New(advice.Failure, "make the plan again", "the published graph data has changed since the plan was made")

// RebuildGraphData builds the image of a plan's graph data again from the same data, and stores it.
// It is needed if a plan is mirrored without the workspace that it was made in.
func RebuildGraphData(ctx context.Context, g plan.GraphData, format manifest.Format, sources Sources) error {
	if sources.Releases == nil {
		return errors.New("rebuilding the image of graph data: no source for graph data")
	}
	source, data, err := readGraphData(ctx, sources)
	switch {
	case err != nil:
	case data.Digest != g.SHA256:
		err = fmt.Errorf("%s: %w", source, errGraphData)
	default:
		built, buildErr := graphdata.Build(ctx, sources.Images, data, sources.Store, g.Base, g.MoreBases...)
		var made digest.Digest
		if err = buildErr; err == nil {
			made, err = inFormat(ctx, g.Base, built.Root.Digest, sources, format)
		}
		if err == nil && made != g.Digest {
			err = fmt.Errorf("the result is %s, but the plan has %s", made, g.Digest)
		}
	}
	if err != nil {
		return fmt.Errorf("rebuilding the image of graph data: %w", err)
	}
	return nil
}
