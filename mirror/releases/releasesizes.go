package releases

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
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// A releaseContent collects the manifests and blobs of a release, each once.
type releaseContent struct {
	src   image.Reader
	mu    sync.Mutex
	bytes map[digest.Digest]int64
}

// releaseSize returns the size of a payload with all images that it names. Shared content counts once.
func releaseSize(ctx context.Context, src image.Reader, source string) (int64, error) {
	p, err := payload.Read(ctx, src, source, "")
	if err != nil {
		return 0, err
	}
	c := &releaseContent{src: src, bytes: map[digest.Digest]int64{}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(site.MaxReleaseReads)
	g.Go(func() error { return c.add(ctx, source) })
	for _, component := range p.Components {
		g.Go(func() error { return c.add(ctx, component.Ref) })
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
func (c *releaseContent) add(ctx context.Context, source string) error {
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

func (c *releaseContent) count(all ...ocispec.Descriptor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, desc := range all {
		c.bytes[desc.Digest] = desc.Size
	}
}

// addSizes sets the size of each listed release. If a payload cannot be read, it warns, and leaves out
// the sizes of this and the following releases.
func (c *releaseClient) addSizes(ctx context.Context, list *ReleaseList) {
	src := site.NewMirrorImages(c.images)
	known := map[string]int64{}
	for i := range list.Channels {
		releases := list.Channels[i].Releases
		for j := range releases {
			r := &releases[j]
			size, ok := known[r.Payload]
			if !ok {
				var err error
				if size, err = releaseSize(ctx, src, r.Payload); err != nil {
					c.env.Warnf("the size of release %s is unknown: %v", r.Version, err)
					return
				}
				known[r.Payload] = size
			}
			r.Size = size
		}
	}
}
