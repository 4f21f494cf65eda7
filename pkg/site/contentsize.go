package site

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A imageContent collects the manifests and blobs of images, each once.
type imageContent struct {
	src   image.Reader
	mu    sync.Mutex
	bytes map[digest.Digest]int64
}

// ContentSize returns the size of images together, with all their platforms. Shared content counts once.
func ContentSize(ctx context.Context, src image.Reader, refs []string) (int64, error) {
	c := &imageContent{src: src, bytes: map[digest.Digest]int64{}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(MaxReleaseReads)
	for _, ref := range refs {
		g.Go(func() error { return c.add(ctx, ref) })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	var total int64
	for _, size := range c.bytes {
		total += size
	}
	return total, nil
}

// add adds an image, and the children of an index.
func (c *imageContent) add(ctx context.Context, source string) error {
	desc, raw, err := c.src.Manifest(ctx, source, "")
	if err != nil {
		return err
	}
	c.count(desc)
	if !manifest.IsIndex(desc.MediaType) {
		var m ocispec.Manifest
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("reading the manifest of %s: %w", source, err)
		}
		c.count(append(m.Layers, m.Config)...)
		return nil
	}
	var index ocispec.Index
	if err := json.Unmarshal(raw, &index); err != nil {
		return fmt.Errorf("reading the index %s: %w", source, err)
	}
	ref, err := reference.Parse(source)
	if err != nil {
		return err
	}
	for _, child := range index.Manifests {
		if err := c.add(ctx, ref.Repository().WithDigest(child.Digest).String()); err != nil {
			return err
		}
	}
	return nil
}

func (c *imageContent) count(all ...ocispec.Descriptor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, desc := range all {
		c.bytes[desc.Digest] = desc.Size
	}
}
