package mirror

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/plan"
)

// A LayoutSink is an OCI layout as a place for a plan's content. What it holds
// is listed in its index.json when Finish or Add is called.
type LayoutSink struct{ layout *layout.Layout }

// ToLayout is the Sink that is an OCI layout.
func ToLayout(l *layout.Layout) *LayoutSink { return &LayoutSink{layout: l} }

// Has implements Holder.
func (s *LayoutSink) Has(desc ocispec.Descriptor) bool { return s.layout.Has(desc) }

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
	return s.layout.Put(ctx, desc, body)
}

// PutManifest implements Sink.
func (s *LayoutSink) PutManifest(ctx context.Context, _ string, desc ocispec.Descriptor, raw []byte, _ []string) error {
	return s.layout.Put(ctx, desc, bytes.NewReader(raw))
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
