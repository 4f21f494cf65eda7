package mirror

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A LayoutDestination is an OCI layout as a Destination. Its index.json lists the images when
// Finish or Add was called.
type LayoutDestination struct {
	layout  *layout.Layout
	damaged sync.Map // content that Check found damaged: digest.Digest -> struct{}
}

// NewLayoutDestination returns an OCI layout as a Destination.
func NewLayoutDestination(l *layout.Layout) *LayoutDestination { return &LayoutDestination{layout: l} }

// Has implements Store. It trusts sizes, except for content that Check found damaged.
func (s *LayoutDestination) Has(desc ocispec.Descriptor) bool {
	_, damaged := s.damaged.Load(desc.Digest)
	return !damaged && s.layout.Has(desc)
}

// Check implements checker: it reads content that is present.
func (s *LayoutDestination) Check(ctx context.Context, desc ocispec.Descriptor) (problem, err error) {
	if problem = s.layout.Check(ctx, desc, nil); problem == nil {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.damaged.Store(desc.Digest, struct{}{})
	return problem, nil
}

// put writes content, in place of what Check found damaged.
func (s *LayoutDestination) put(ctx context.Context, desc ocispec.Descriptor, body io.Reader) error {
	_, damaged := s.damaged.Load(desc.Digest)
	if damaged {
		if err := s.layout.Remove(desc); err != nil {
			return err
		}
	}
	err := s.layout.Put(ctx, desc, body)
	if err == nil && damaged {
		s.damaged.Delete(desc.Digest)
	}
	return err
}

// Listed returns the images of index.json by name, or by digest if they have none. Content of a run
// that did not come to its end is not listed, and nothing finds it.
func (s *LayoutDestination) Listed() (map[string]digest.Digest, error) {
	index, err := s.layout.Index()
	if err != nil {
		return nil, err
	}
	names := map[string]digest.Digest{}
	for _, m := range index.Manifests {
		names[indexName(m)] = m.Digest
	}
	return names, nil
}

// indexName returns the name of an entry of index.json, or its digest if it has no name.
func indexName(m ocispec.Descriptor) string {
	return cmp.Or(m.Annotations[ocispec.AnnotationRefName], string(m.Digest))
}

// PutBlob implements Destination.
func (s *LayoutDestination) PutBlob(ctx context.Context, _ string, desc ocispec.Descriptor, open Open) error {
	body, err := open(ctx, 0)
	if err != nil {
		return err
	}
	defer body.Close() // only read from
	return s.put(ctx, desc, body)
}

// PutManifest implements Destination.
func (s *LayoutDestination) PutManifest(ctx context.Context, _ string, desc ocispec.Descriptor, raw []byte, _ []string) error {
	return s.put(ctx, desc, bytes.NewReader(raw))
}

// Finish lists the plan's images in index.json, in place of what it listed before.
func (s *LayoutDestination) Finish(ctx context.Context, p *plan.Plan) error {
	names, err := IndexManifests(p)
	if err != nil {
		return err
	}
	return s.writeIndex(ctx, names)
}

// Add lists the plan's images in index.json, in addition to those under other names and without
// names.
func (s *LayoutDestination) Add(ctx context.Context, p *plan.Plan) error {
	names, err := IndexManifests(p)
	if err != nil {
		return err
	}
	index, err := s.layout.Index()
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for m := range names {
		listed[indexName(m)] = true
	}
	others := slices.DeleteFunc(index.Manifests, func(m ocispec.Descriptor) bool { return listed[indexName(m)] })
	return s.writeIndex(ctx, slices.Values(slices.AppendSeq(others, names)))
}

func (s *LayoutDestination) writeIndex(ctx context.Context, manifests iter.Seq[ocispec.Descriptor]) error {
	if err := s.layout.SetIndex(ctx, manifests); err != nil {
		return fmt.Errorf("finishing the layout: %w", err)
	}
	return nil
}

// indexNames returns the names of an image in index.json, see indexName.
func indexNames(img *plan.Image) []string {
	if len(img.Tags) == 0 {
		return []string{string(img.Digest)}
	}
	return img.Names()
}
