package mirror

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/plan"
)

// A LayoutSink is an OCI layout as a place for a plan's content. What it holds
// is listed in its index.json when Finish or Add is called.
type LayoutSink struct {
	layout  *layout.Layout
	damaged sync.Map // content that Check found damaged: digest.Digest -> struct{}
}

// ToLayout is the Sink that is an OCI layout.
func ToLayout(l *layout.Layout) *LayoutSink { return &LayoutSink{layout: l} }

// Has implements Holder. It trusts sizes, but for what Check found.
func (s *LayoutSink) Has(desc ocispec.Descriptor) bool {
	_, damaged := s.damaged.Load(desc.Digest)
	return !damaged && s.layout.Has(desc)
}

// Check implements checker: it reads content that is there.
func (s *LayoutSink) Check(ctx context.Context, desc ocispec.Descriptor) (problem, err error) {
	if problem = s.layout.Check(ctx, desc, nil); problem == nil {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.damaged.Store(desc.Digest, struct{}{})
	return problem, nil
}

// put brings content, in place of what Check found damaged.
func (s *LayoutSink) put(ctx context.Context, desc ocispec.Descriptor, body io.Reader) error {
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

// Listed returns the images of index.json by name. Content that lies there under
// no name, since a run that brought it did not come to its end, is found by
// nobody.
func (s *LayoutSink) Listed() (map[string]digest.Digest, error) {
	index, err := s.layout.Index()
	if err != nil {
		return nil, err
	}
	names := map[string]digest.Digest{}
	for _, m := range index.Manifests {
		names[m.Annotations[ocispec.AnnotationRefName]] = m.Digest
	}
	return names, nil
}

// PutBlob implements Sink.
func (s *LayoutSink) PutBlob(ctx context.Context, _ string, desc ocispec.Descriptor, open Open) error {
	body, err := open(ctx, 0)
	if err != nil {
		return err
	}
	defer body.Close() // only read from
	return s.put(ctx, desc, body)
}

// PutManifest implements Sink.
func (s *LayoutSink) PutManifest(ctx context.Context, _ string, desc ocispec.Descriptor, raw []byte, _ []string) error {
	return s.put(ctx, desc, bytes.NewReader(raw))
}

// Finish lists the plan's images in index.json, in place of what it listed
// before.
func (s *LayoutSink) Finish(ctx context.Context, p *plan.Plan) error {
	names, err := Names(p)
	if err != nil {
		return err
	}
	return s.list(ctx, names)
}

// Add lists the plan's images in index.json, after what it lists under other
// names or under none.
func (s *LayoutSink) Add(ctx context.Context, p *plan.Plan) error {
	names, err := Names(p)
	if err != nil {
		return err
	}
	index, err := s.layout.Index()
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for m := range names {
		taken[m.Annotations[ocispec.AnnotationRefName]] = true
	}
	others := slices.DeleteFunc(index.Manifests, func(m ocispec.Descriptor) bool { return taken[m.Annotations[ocispec.AnnotationRefName]] })
	return s.list(ctx, slices.Values(slices.AppendSeq(others, names)))
}

func (s *LayoutSink) list(ctx context.Context, manifests iter.Seq[ocispec.Descriptor]) error {
	if err := s.layout.SetIndex(ctx, manifests); err != nil {
		return fmt.Errorf("finishing the layout: %w", err)
	}
	return nil
}
