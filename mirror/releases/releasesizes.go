package releases

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// releaseSize returns the size of a payload with all images that it names. Shared content counts once.
func releaseSize(ctx context.Context, src image.Reader, source string) (int64, error) {
	p, err := payload.Read(ctx, src, source, "")
	if err != nil {
		return 0, err
	}
	refs := []string{source}
	for _, component := range p.Components {
		refs = append(refs, component.Ref)
	}
	return site.ContentSize(ctx, src, refs)
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
