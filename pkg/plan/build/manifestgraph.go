package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A manifestGraph has every manifest that was read, each once, no matter how many images and repositories share it.
type manifestGraph struct {
	images image.Reader
	// format is the format of the plan; "" if images keep their media types.
	format manifest.Format

	mu    sync.Mutex
	nodes map[digest.Digest]*graphNode
	// texts has one copy of each digest and media type: most blobs belong to many images.
	texts map[string]string
}

type graphNode struct {
	sync.Mutex // locked while the manifest is read
	*parsedManifest
	// selected are the children of an index that a request selects; nil if there are none.
	selected map[digest.Digest]bool
	// built means that the index was made for the plan, and no source has it.
	built bool
}

func newManifestGraph(images image.Reader) *manifestGraph {
	return &manifestGraph{images: images, nodes: map[digest.Digest]*graphNode{}, texts: map[string]string{}}
}

// A resolvedImage is a request with the digest that it resolved to, or the error.
type resolvedImage struct {
	request *imageRequest
	digest  digest.Digest
	err     error
	// rewrittenFrom is the index that digest was made from, or "". notRewritten is why the image keeps
	// all platforms although a smaller index was requested, or "".
	rewrittenFrom digest.Digest
	notRewritten  string
	// namedBy is what names rewrittenFrom and cannot be changed, or "".
	namedBy string
}

// resolveAll reads the manifests of all requests. A request that fails has its error in the result;
// resolveAll itself fails only if ctx is canceled.
func (g *manifestGraph) resolveAll(ctx context.Context, all []*imageRequest, opts Options) ([]resolvedImage, error) {
	out := make([]resolvedImage, len(all))
	var done atomic.Int64
	inTurn(len(all), opts.Jobs, func(i int) {
		d, err := g.resolveRequest(ctx, all[i])
		out[i] = resolvedImage{request: all[i], digest: d, err: err}
		if n := done.Add(1); opts.Progress != nil {
			opts.Progress(int(n), len(all))
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// A digest that is missing in one repository may have been read from another in the meantime.
	// The result must not depend on which came first.
	for again := true; again; {
		again = false
		for i, r := range out {
			if r.err == nil || r.request.digest == "" || !g.contains(r.request.digest) {
				continue
			}
			if d, err := g.resolveRequest(ctx, r.request); err == nil {
				out[i], again = resolvedImage{request: r.request, digest: d}, true
			}
		}
	}
	return out, ctx.Err()
}

// contains reports whether the manifest was read.
func (g *manifestGraph) contains(d digest.Digest) bool {
	node := g.node(d)
	node.Lock()
	defer node.Unlock()
	return node.parsedManifest != nil
}

func (g *manifestGraph) resolveRequest(ctx context.Context, w *imageRequest) (digest.Digest, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if d := w.digest; d != "" {
		return d, g.resolve(ctx, w, ocispec.Descriptor{Digest: d})
	}
	desc, raw, err := g.images.Manifest(ctx, w.source, "")
	if err != nil {
		return "", err
	}
	if err := g.add(desc, raw); err != nil {
		return "", err
	}
	return desc.Digest, g.resolve(ctx, w, desc)
}

func (g *manifestGraph) node(d digest.Digest) *graphNode {
	g.mu.Lock()
	defer g.mu.Unlock()
	node := g.nodes[d]
	if node == nil {
		node = &graphNode{}
		g.nodes[d] = node
	}
	return node
}

// maxManifests is how many manifests the indexes of one image list at most, counted each time that they are listed.
const maxManifests = 10_000

// resolve reads the manifest of desc and, for an index, the children that w selects.
func (g *manifestGraph) resolve(ctx context.Context, w *imageRequest, desc ocispec.Descriptor) error {
	visited := 0
	return g.resolveBelow(ctx, w, desc, 0, &visited)
}

// resolveBelow is resolve for a manifest that is nested in depth indexes.
func (g *manifestGraph) resolveBelow(ctx context.Context, w *imageRequest, desc ocispec.Descriptor, depth int, visited *int) error {
	if depth > plan.MaxDepth {
		return fmt.Errorf("manifest %s is nested in more than %d indexes", desc.Digest, plan.MaxDepth)
	}
	if *visited++; *visited > maxManifests {
		return fmt.Errorf("its index lists more than %d manifests", maxManifests)
	}
	node := g.node(desc.Digest)
	n, err := g.load(ctx, node, w.source, desc)
	if err != nil {
		return err
	}
	var children []ocispec.Descriptor
	for _, c := range n.children {
		// A nested index usually has no platform of its own.
		if w.all || hasPlatform(c.Platform, w.platforms) || c.Platform == nil && manifest.IsIndex(c.MediaType) {
			children = append(children, c)
		}
	}
	if w.rewrite {
		children = withAttestations(children, n.children)
	}
	found := len(n.children) == 0
	none := &platformError{requested: platformNames(w.platforms), available: platformsOf(n.children)}
	for _, c := range children {
		err := g.resolveBelow(ctx, w, c, depth+1, visited)
		if inner, ok := errors.AsType[*platformError](err); ok {
			none.available = slices.Concat(none.available, inner.available)
			continue
		}
		if err != nil {
			return absentChild(err, c)
		}
		found = true
		node.Lock()
		if node.selected == nil {
			node.selected = map[digest.Digest]bool{}
		}
		node.selected[c.Digest] = true
		node.Unlock()
	}
	if !found {
		return none
	}
	return nil
}

// An absentChildError means that the source has an index without one of its children, as a mirror of some platforms has it.
type absentChildError struct {
	child string
	err   error
}

// absentChild returns an absentChildError if err means that the source does not have the child.
func absentChild(err error, child ocispec.Descriptor) error {
	var inner *absentChildError
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &inner) {
		return err
	}
	name := cmp.Or(strings.Join(platformsOf([]ocispec.Descriptor{child}), ""), "attachment "+string(child.Digest))
	return &absentChildError{name, err}
}

func (e *absentChildError) Error() string {
	return "the source does not have all of its index (a sparse index): " + e.child + " is missing; select the platforms that it has, or another source: " + e.err.Error()
}

func (e *absentChildError) Unwrap() error { return e.err }

// A platformError means that an index has no image for the requested platforms.
type platformError struct {
	requested string
	available []string // platforms of the index, with duplicates
}

func (e *platformError) Error() string {
	available := slices.Compact(slices.Sorted(slices.Values(e.available)))
	if len(available) == 0 {
		return "it has no image for " + e.requested + " and names no platforms"
	}
	return "it has no image for " + e.requested + ", only for " + strings.Join(available, ", ")
}

func (g *manifestGraph) load(ctx context.Context, node *graphNode, source string, desc ocispec.Descriptor) (*parsedManifest, error) {
	node.Lock()
	defer node.Unlock()
	if node.parsedManifest != nil {
		return node.parsedManifest, nil
	}
	got, raw, err := g.images.Manifest(ctx, source, desc.Digest)
	if err != nil {
		return nil, err
	}
	if desc.Size > 0 && desc.Size != got.Size {
		return nil, fmt.Errorf("manifest %s has %d bytes, its index says %d", desc.Digest, got.Size, desc.Size)
	}
	node.parsedManifest, err = g.parse(got, raw)
	return node.parsedManifest, err
}

// A recordingReader adds every manifest that it reads to a graph.
type recordingReader struct {
	image.Reader
	graph *manifestGraph
}

func (r recordingReader) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := r.Reader.Manifest(ctx, source, d)
	if err == nil {
		// An invalid manifest is reported when the image is resolved.
		_ = r.graph.add(desc, raw)
	}
	return desc, raw, err
}

// add adds a manifest that was read.
func (g *manifestGraph) add(desc ocispec.Descriptor, raw []byte) (err error) {
	node := g.node(desc.Digest)
	node.Lock()
	defer node.Unlock()
	if node.parsedManifest == nil {
		node.parsedManifest, err = g.parse(desc, raw)
	}
	return err
}

// parse is parseManifest; equal texts in the graph share memory.
func (g *manifestGraph) parse(desc ocispec.Descriptor, raw []byte) (*parsedManifest, error) {
	n, err := parseManifest(desc, raw)
	if err != nil {
		return nil, err
	}
	switch {
	case g.format == "":
		n.typedText = nil
	case manifest.IsIndex(n.mediaType) || slices.ContainsFunc(n.types, g.format.Refuses):
		n.raw = raw
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	plan.Share(g.texts, &n.mediaType)
	for i := range n.blobs {
		plan.Share(g.texts, &n.blobs[i].Digest)
	}
	return n, nil
}

func hasPlatform(p *ocispec.Platform, platforms []imageset.Platform) bool {
	return p != nil && slices.ContainsFunc(platforms, func(q imageset.Platform) bool {
		return q.OS == p.OS && q.Architecture == p.Architecture
	})
}

// platformNames lists platforms, each once.
func platformNames(platforms []imageset.Platform) string {
	names := elements.Map(platforms, func(p imageset.Platform) string { return p.OS + "/" + p.Architecture })
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}

// platformsOf lists the platforms of an index's children. Attachments, such as attestations, have none or "unknown".
func platformsOf(children []ocispec.Descriptor) []string {
	var names []string
	for _, c := range children {
		if p := c.Platform; p != nil && p.OS != "" && p.OS != "unknown" {
			names = append(names, p.OS+"/"+p.Architecture)
		}
	}
	return names
}

// recording returns sources that add every manifest that is read to the graph, so that the graph does not read it again.
func (g *manifestGraph) recording(sources Sources) Sources {
	sources.Images = recordingReader{sources.Images, g}
	return sources
}

// withAttestations adds the attestations of the selected children of an index, and returns all in the order of the index.
func withAttestations(selected, children []ocispec.Descriptor) []ocispec.Descriptor {
	isSelected := func(d digest.Digest) bool {
		return slices.ContainsFunc(selected, func(c ocispec.Descriptor) bool { return c.Digest == d })
	}
	return slices.DeleteFunc(slices.Clone(children), func(c ocispec.Descriptor) bool {
		return !isSelected(c.Digest) && !isSelected(digest.Digest(c.Annotations[attestationOf]))
	})
}
