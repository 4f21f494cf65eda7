package carry

import (
	"context"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
)

// goneSample is how many images are asked for to find out whether a mirror was emptied.
const goneSample = 3

// gone reports whether the mirror has none of the images, as far as a few tell, whose
// manifests the archive leaves out: it was emptied since the last import, or images go
// to other repositories than then. What it lost of some is met when they are copied.
func (c *Chain) gone(ctx context.Context, p *plan.Plan) (bool, error) {
	if c.site == nil || c.site.CheckBlobs || len(c.Archive.Newest().BuildsOn) == 0 {
		return false, nil // a run that asks for all is to write a receipt of what is left
	}
	left := map[digest.Digest]ocispec.Descriptor{}
	for _, m := range p.Manifests {
		if desc := (ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size}); !c.has(desc) {
			left[m.Digest] = desc
		}
	}
	if len(left) == 0 {
		return false, nil
	}
	registry, err := c.site.Registry(p)
	if err != nil {
		return false, err
	}
	asked := 0
	for _, img := range p.Images {
		desc, ok := left[img.Digest]
		if !ok || img.Repository == "" || asked == goneSample {
			continue
		}
		asked++
		if has, err := registry.HasManifest(ctx, img.Repository, "", desc); has || err != nil {
			return false, context.Cause(ctx) // another error is met again when the image is copied
		}
	}
	return asked > 0, nil
}

// gap says which archives are needed, too.
func (c *Chain) gap(unknown []archive.BaseSet, lacking []ocispec.Descriptor) error {
	b := unknown[len(unknown)-1]
	since := "--full"
	if c.receipt != nil && !c.emptied {
		for _, s := range c.receipt.Sets {
			if s.Sequence < b.Sequence {
				since = fmt.Sprintf("--since %d", s.Sequence)
			}
		}
	}
	where := "at the mirror"
	if c.site == nil {
		where = "at the destination, which is no mirror"
	}
	past, needed := "which this site never imported", "carry gantry-%06d too and name its folder with a second --from"
	if c.emptied {
		past = "which this site imported, but the mirror lost it since or keeps it under other names"
		needed = "carry gantry-%06d and those before it too and name their folders with --from"
	}
	return mismatchf(fmt.Sprintf(needed, b.Sequence)+", or write the archive again with "+since,
		"sequence %d builds on %d, %s: %s neither in %s nor %s",
		c.Archive.Newest().Sequence, b.Sequence, past, lackingText(lacking), strings.Join(c.from, ", "), where)
}

// lackingText says what is nowhere, and that it "is" or "are".
func lackingText(lacking []ocispec.Descriptor) string {
	if len(lacking) == 1 {
		return fmt.Sprintf("%s is", lacking[0].Digest)
	}
	var size int64
	for _, desc := range lacking {
		size += desc.Size
	}
	return fmt.Sprintf("%d manifests and blobs (%s), such as %s, are", len(lacking), progress.Bytes(size), lacking[0].Digest)
}
