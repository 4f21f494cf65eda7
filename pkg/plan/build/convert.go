package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// formatNames are the formats as messages call them.
var formatNames = map[manifest.Format]string{manifest.Docker: "Docker", manifest.OCI: "OCI"}

// formatHint is the hint for content that a format cannot express.
const formatHint = "leave it out of the configuration, or mirror it to a registry that accepts its media types"

// refuseArtifacts returns an error if the format has no form for the charts and files of a configuration.
func refuseArtifacts(format manifest.Format, charts helmCharts, files plannedFiles) error {
	what := ""
	switch {
	case format != manifest.Docker:
	case len(charts.requests) > 0:
		what = "charts"
	case len(files.requests) > 0:
		what = "files"
	}
	if what == "" {
		return nil
	}
	return advice.New(advice.Input, "mirror them with another configuration to a registry that accepts OCI artifacts", "the configuration has %s, which are OCI artifacts and cannot be converted to Docker's media types", what)
}

// refuses reports whether a registry that knows only a format refuses the manifest d, or one below it that is selected.
func (g *manifestGraph) refuses(d digest.Digest, format manifest.Format) bool {
	return format != "" && slices.ContainsFunc(g.reachable(d), func(d digest.Digest) bool {
		return slices.ContainsFunc(g.node(d).types, format.Refuses)
	})
}

// A conversion is an image that was converted, or why it was not.
type conversion struct {
	root, made digest.Digest
	source     string
	err        error
}

// convertImages replaces images whose media types the format does not have. An image that cannot be
// converted gets an error. An index without some of its platforms becomes a smaller one.
func (g *manifestGraph) convertImages(ctx context.Context, images []resolvedImage, sources Sources, opts Options) error {
	all := map[digest.Digest]*conversion{}
	var wanted []*conversion
	for i := range images {
		r := &images[i]
		if r.err != nil || !g.refuses(r.digest, opts.Format) {
			continue
		}
		if isReleaseImage(r.request.kind) {
			r.err = advice.New(advice.Failure, "mirror the release to a registry that accepts its media types", "it belongs to a release, whose images clusters request by their digests, and has media types that %s does not have", formatNames[opts.Format])
			continue
		}
		if all[r.digest] == nil {
			all[r.digest] = &conversion{root: r.digest, source: r.request.source}
			wanted = append(wanted, all[r.digest])
		}
	}
	err := eachOf(ctx, len(wanted), opts.Jobs, func(ctx context.Context, i int) error {
		wanted[i].made, wanted[i].err = g.convert(ctx, wanted[i].source, wanted[i].root, sources, opts.Format)
		return context.Cause(ctx)
	})
	if err != nil {
		return err
	}
	for i := range images {
		r := &images[i]
		c := all[r.digest]
		switch {
		case c == nil || r.err != nil:
		case c.err != nil:
			r.err = c.err
		default:
			r.rewrittenFrom, r.digest, r.notRewritten = cmp.Or(r.rewrittenFrom, r.digest), c.made, ""
			r.namedBy = r.request.named
		}
	}
	return nil
}

// convert stores an image in a format, with the images that requests select, adds it to the graph, and returns its digest.
func (g *manifestGraph) convert(ctx context.Context, source string, root digest.Digest, sources Sources, format manifest.Format) (digest.Digest, error) {
	selected := map[digest.Digest]bool{}
	for _, d := range g.reachable(root) {
		selected[d] = true
	}
	written, err := image.Convert(ctx, graphReader{sources.Images, g}, sources.Store, source, root, image.Conversion{Format: format, Keep: func(d digest.Digest) bool { return selected[d] }})
	if err != nil {
		return "", conversionError(err, format)
	}
	for _, desc := range written {
		g.node(desc.Digest).built = true
	}
	made := written[root].Digest
	return made, g.resolve(ctx, &imageRequest{source: source, all: true}, ocispec.Descriptor{Digest: made})
}

func conversionError(err error, format manifest.Format) error {
	if errors.Is(err, image.ErrNotConvertible) {
		return advice.Wrap(advice.Failure, fmt.Errorf("converting it to the media types of %s: %w", formatNames[format], err), formatHint)
	}
	return fmt.Errorf("converting it to the media types of %s: %w", formatNames[format], err)
}

// A graphReader reads manifests that the graph keeps from there.
type graphReader struct {
	image.Reader
	graph *manifestGraph
}

func (r graphReader) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	node := r.graph.node(d)
	node.Lock()
	n := node.parsedManifest
	node.Unlock()
	if n != nil && n.typedText != nil && n.raw != nil {
		return ocispec.Descriptor{MediaType: n.mediaType, Digest: d, Size: n.size}, n.raw, nil
	}
	return r.Reader.Manifest(ctx, source, d)
}

// inFormat stores an image that was built in a format, and returns its digest. The image keeps its digest
// if it has the format, or format is "".
func inFormat(ctx context.Context, source string, built digest.Digest, sources Sources, format manifest.Format) (digest.Digest, error) {
	if format == "" {
		return built, nil
	}
	written, err := image.Convert(ctx, sources.Images, sources.Store, source, built, image.Conversion{Format: format})
	if err != nil {
		return "", conversionError(err, format)
	}
	if made, ok := written[built]; ok {
		return made.Digest, nil
	}
	return built, nil
}

// replacedDigests returns the digests of images that were made from others, by those.
func replacedDigests(images []resolvedImage) map[digest.Digest]digest.Digest {
	all := map[digest.Digest]digest.Digest{}
	for _, r := range images {
		if r.err == nil && r.rewrittenFrom != "" {
			all[r.rewrittenFrom] = r.digest
		}
	}
	return all
}

// notesOnConverted returns what the reader of the plan should know about converted images. lost is "" if
// clusters find all of them.
func notesOnConverted(images []resolvedImage, format manifest.Format) (notes []string, lost string) {
	if format == "" {
		return nil, ""
	}
	converted := 0
	named := map[string][]string{}
	for _, r := range images {
		if r.err != nil || r.rewrittenFrom == "" {
			continue
		}
		converted++
		if r.namedBy != "" {
			named[r.namedBy] = append(named[r.namedBy], r.request.source)
		}
	}
	if converted > 0 {
		notes = append(notes, fmt.Sprintf("%s to the media types of %s and other digests: clusters find them by tag or through the filtered catalog; the digests of the originals are not in the mirror",
			count(converted, "image is converted", "images are converted"), formatNames[format]))
	}
	var parts []string
	for _, by := range slices.Sorted(maps.Keys(named)) {
		list := slices.Compact(slices.Sorted(slices.Values(named[by])))
		parts = append(parts, fmt.Sprintf("%s (named by %s)", shortList(list), by))
	}
	if len(parts) > 0 {
		lost = "clusters do not find images that were converted to the media types of " + formatNames[format] + ", because they request the digests of the originals: " + strings.Join(parts, "; ") +
			"; gantry plan lists all. Use a registry that accepts the original media types for them"
		notes = append(notes, lost)
	}
	return notes, lost
}

// Originals returns the manifests of the source of an image by what they became in a plan with a format.
// Those that were not converted are left out. It converts the image again, and stores nothing.
func Originals(ctx context.Context, p *plan.Plan, img *plan.Image, images image.Reader) (map[digest.Digest]digest.Digest, error) {
	if p.Format == "" || img.RewrittenFrom == "" {
		return nil, nil
	}
	return convertAgain(ctx, p, img, images, discard{})
}

// discard is a store that only computes digests.
type discard struct{}

func (discard) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var text bytes.Buffer
	err := write(&text)
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(text.Bytes()), Size: int64(text.Len())}, err
}

// convertAgain converts an image of a plan again, into a store, and returns the manifests of the source by what they became.
func convertAgain(ctx context.Context, p *plan.Plan, img *plan.Image, images image.Reader, store image.Store) (map[digest.Digest]digest.Digest, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	inPlan := map[digest.Digest]bool{}
	err = contents.Walk(img.Digest, func(m *plan.Manifest) error {
		inPlan[m.Digest] = true
		return nil
	}, func(plan.Blob) error { return nil })
	if err != nil {
		return nil, err
	}
	written, err := image.Convert(ctx, images, store, img.Source, img.RewrittenFrom, image.Conversion{Format: p.Format, KeepMade: func(d digest.Digest) bool { return inPlan[d] }})
	if err != nil {
		return nil, fmt.Errorf("converting %s again: %w", img.Source, err)
	}
	if made := written[img.RewrittenFrom].Digest; made != img.Digest {
		return nil, fmt.Errorf("image %s: it was converted to %s, but the plan has %s: %w", img.Source, made, img.Digest, errChanged)
	}
	all := map[digest.Digest]digest.Digest{}
	for from, made := range written {
		all[made.Digest] = from
	}
	return all, nil
}
