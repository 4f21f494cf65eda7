package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// A forest holds every manifest that was read, each once, however many images
// and repositories share it.
type forest struct {
	images Images

	mu    sync.Mutex
	trees map[digest.Digest]*tree
	// same is one copy of each digest and type: most blobs are of many images.
	same map[string]string
}

type tree struct {
	sync.Mutex // held while the manifest is being read
	*node
	// kept marks the children of an index that somebody wants; nil while none is.
	kept map[digest.Digest]bool
}

func newForest(images Images) *forest {
	return &forest{images: images, trees: map[digest.Digest]*tree{}, same: map[string]string{}}
}

// resolved is what became of a wish.
type resolved struct {
	wish   *wish
	digest digest.Digest
	err    error
}

// resolve reads the manifests of all wishes. One that fails carries its error;
// only the end of ctx ends the whole.
func (f *forest) resolve(ctx context.Context, all []*wish, opts Options) ([]resolved, error) {
	out := make([]resolved, len(all))
	var done atomic.Int64
	var g errgroup.Group
	g.SetLimit(opts.Jobs)
	for i, w := range all {
		g.Go(func() error {
			d, err := f.read(ctx, w)
			out[i] = resolved{wish: w, digest: d, err: err}
			if n := done.Add(1); opts.Progress != nil {
				opts.Progress(int(n), len(all))
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, context.Cause(ctx)
	}
	// A digest that one repository lacks may have been read from another since:
	// what is found must not depend on who was first.
	for again := true; again; {
		again = false
		for i, r := range out {
			if r.err == nil || r.wish.digest == "" || !f.has(r.wish.digest) {
				continue
			}
			if d, err := f.read(ctx, r.wish); err == nil {
				out[i], again = resolved{wish: r.wish, digest: d}, true
			}
		}
	}
	return out, ctx.Err()
}

// has reports whether the manifest was read.
func (f *forest) has(d digest.Digest) bool {
	t := f.tree(d)
	t.Lock()
	defer t.Unlock()
	return t.node != nil
}

func (f *forest) read(ctx context.Context, w *wish) (digest.Digest, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if d := w.digest; d != "" {
		return d, f.grow(ctx, w, ocispec.Descriptor{Digest: d}, 0)
	}
	desc, raw, err := f.images.Manifest(ctx, w.source, "")
	if err != nil {
		return "", err
	}
	if err := f.plant(desc, raw); err != nil {
		return "", err
	}
	return desc.Digest, f.grow(ctx, w, desc, 0)
}

func (f *forest) tree(d digest.Digest) *tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.trees[d]
	if t == nil {
		t = &tree{}
		f.trees[d] = t
	}
	return t
}

// grow reads the manifest of desc and, for an index, the children that w wants.
// depth is how many indexes lie above it.
func (f *forest) grow(ctx context.Context, w *wish, desc ocispec.Descriptor, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("manifest %s lies more than %d indexes deep", desc.Digest, maxDepth)
	}
	t := f.tree(desc.Digest)
	n, err := f.load(ctx, t, w.source, desc)
	if err != nil {
		return err
	}
	var children []ocispec.Descriptor
	for _, c := range n.children {
		// An index inside an index mostly says nothing of platforms itself.
		if w.all || wanted(c.Platform, w.platforms) || c.Platform == nil && manifest.IsIndex(c.MediaType) {
			children = append(children, c)
		}
	}
	some := len(n.children) == 0
	none := &platformError{asked: platformNames(w.platforms), there: platformsOf(n.children)}
	for _, c := range children {
		err := f.grow(ctx, w, c, depth+1)
		var inner *platformError
		if errors.As(err, &inner) {
			none.there = slices.Concat(none.there, inner.there)
			continue
		}
		if err != nil {
			return err
		}
		some = true
		t.Lock()
		if t.kept == nil {
			t.kept = map[digest.Digest]bool{}
		}
		t.kept[c.Digest] = true
		t.Unlock()
	}
	if !some {
		return none
	}
	return nil
}

// A platformError says that an index has nothing for the platforms asked for.
type platformError struct {
	asked string
	there []string // platforms that it has, with repetitions
}

func (e *platformError) Error() string {
	there := slices.Compact(slices.Sorted(slices.Values(e.there)))
	if len(there) == 0 {
		return "it has nothing for " + e.asked + "; it names no platforms"
	}
	return "it has nothing for " + e.asked + "; it is for " + strings.Join(there, ", ")
}

func (f *forest) load(ctx context.Context, t *tree, source string, desc ocispec.Descriptor) (*node, error) {
	t.Lock()
	defer t.Unlock()
	if t.node != nil {
		return t.node, nil
	}
	got, raw, err := f.images.Manifest(ctx, source, desc.Digest)
	if err != nil {
		return nil, err
	}
	if desc.Size > 0 && desc.Size != got.Size {
		return nil, fmt.Errorf("manifest %s has %d bytes, its index says %d", desc.Digest, got.Size, desc.Size)
	}
	t.node, err = f.parse(got, raw)
	return t.node, err
}

// planted puts the manifests that others read into a forest.
type planted struct {
	Images
	in *forest
}

func (p planted) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := p.Images.Manifest(ctx, source, d)
	if err == nil {
		// Whoever wants the image hears what is wrong with its manifest.
		_ = p.in.plant(desc, raw)
	}
	return desc, raw, err
}

// plant enters a manifest that was read.
func (f *forest) plant(desc ocispec.Descriptor, raw []byte) (err error) {
	t := f.tree(desc.Digest)
	t.Lock()
	defer t.Unlock()
	if t.node == nil {
		t.node, err = f.parse(desc, raw)
	}
	return err
}

// parse is parseManifest with texts that the nodes of the forest share.
func (f *forest) parse(desc ocispec.Descriptor, raw []byte) (*node, error) {
	n, err := parseManifest(desc, raw)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	share(f.same, &n.mediaType)
	for i := range n.blobs {
		share(f.same, &n.blobs[i].Digest)
	}
	return n, nil
}

func wanted(p *ocispec.Platform, platforms []imageset.Platform) bool {
	return p != nil && slices.ContainsFunc(platforms, func(q imageset.Platform) bool {
		return q.OS == p.OS && q.Architecture == p.Architecture
	})
}

// platformNames lists the platforms asked for, each once.
func platformNames(platforms []imageset.Platform) string {
	var names []string
	for _, p := range platforms {
		names = append(names, p.OS+"/"+p.Architecture)
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}

// platformsOf lists the platforms of an index's children. What belongs to an
// image, such as an attestation, has none or an unknown one.
func platformsOf(children []ocispec.Descriptor) []string {
	var names []string
	for _, c := range children {
		if p := c.Platform; p != nil && p.OS != "" && p.OS != "unknown" {
			names = append(names, p.OS+"/"+p.Architecture)
		}
	}
	return names
}
