package main

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
func (c *chain) gone(ctx context.Context, r *registryTarget, p *plan.Plan) (bool, error) {
	if r == nil || r.checkBlobs || len(c.have.Newest().BuildsOn) == 0 {
		return false, nil // --check-blobs is to write a receipt of what is left
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
	sink, err := r.sink(p)
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
		if has, err := sink.HasManifest(ctx, img.Repository, "", desc); has || err != nil {
			return false, context.Cause(ctx) // another error is met again when the image is copied
		}
	}
	return asked > 0, nil
}

// gap says which archives are needed, too.
func (c *chain) gap(unknown []archive.BaseSet, lacking []ocispec.Descriptor, f *mirrorFlags) error {
	b := unknown[len(unknown)-1]
	var size int64
	for _, desc := range lacking {
		size += desc.Size
	}
	since := "--full"
	if c.receipt != nil {
		for _, s := range c.receipt.Sets {
			if s.Sequence < b.Sequence {
				since = fmt.Sprintf("--since %d", s.Sequence)
			}
		}
	}
	where := "at the mirror"
	if c.mirror == "" {
		where = "at the destination, which is no mirror"
	}
	what := fmt.Sprintf("%s is", lacking[0].Digest)
	if n := len(lacking); n > 1 {
		what = fmt.Sprintf("%d manifests and blobs (%s), such as %s, are", n, progress.Bytes(size), lacking[0].Digest)
	}
	past := "which this site never imported"
	if c.emptied {
		past = "which this site imported, but the mirror lost it since or keeps it under other names"
		since = "--full"
	}
	text := fmt.Sprintf("sequence %d builds on %d, %s: %s neither in %s nor %s",
		c.have.Newest().Sequence, b.Sequence, past, what, strings.Join(f.from, ", "), where)
	needed := fmt.Sprintf("carry gantry-%06d too and name its folder with a second --from", b.Sequence)
	if c.emptied {
		needed = fmt.Sprintf("carry gantry-%06d and those before it too and name their folders with --from", b.Sequence)
	}
	return &hintError{&mismatchError{text}, "; ", needed + ", or write the archive again with " + since}
}
