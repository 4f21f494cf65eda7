package plan

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A forest holds every manifest that was read, each once, however many images
// and repositories share it.
type forest struct {
	images Images

	mu    sync.Mutex
	trees map[digest.Digest]*tree
}

type tree struct {
	sync.Mutex // held while the manifest is being read
	*node
	// kept marks the children of an index that somebody wants.
	kept map[digest.Digest]bool
}

func newForest(images Images) *forest {
	return &forest{images: images, trees: map[digest.Digest]*tree{}}
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
	return out, nil
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
	t := f.tree(desc.Digest)
	t.Lock()
	if t.node == nil {
		t.node, err = parseManifest(desc, raw)
	}
	t.Unlock()
	if err != nil {
		return "", err
	}
	return desc.Digest, f.grow(ctx, w, desc, 0)
}

func (f *forest) tree(d digest.Digest) *tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.trees[d]
	if t == nil {
		t = &tree{kept: map[digest.Digest]bool{}}
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
		if w.all || wanted(c.Platform, w.platforms) {
			children = append(children, c)
		}
	}
	if len(n.children) > 0 && len(children) == 0 {
		return fmt.Errorf("no child of index %s has one of the platforms %s", desc.Digest, platformNames(w.platforms))
	}
	for _, c := range children {
		if err := f.grow(ctx, w, c, depth+1); err != nil {
			return err
		}
		t.Lock()
		t.kept[c.Digest] = true
		t.Unlock()
	}
	return nil
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
	t.node, err = parseManifest(got, raw)
	return t.node, err
}

func wanted(p *ocispec.Platform, platforms []imageset.Platform) bool {
	return p != nil && slices.ContainsFunc(platforms, func(q imageset.Platform) bool {
		return q.OS == p.OS && q.Architecture == p.Architecture
	})
}

func platformNames(platforms []imageset.Platform) string {
	s := ""
	for i, p := range platforms {
		if i > 0 {
			s += ", "
		}
		s += p.OS + "/" + p.Architecture
	}
	return s
}
