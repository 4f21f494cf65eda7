package build

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// rewrites reports whether the catalog's images get smaller indexes.
func (r *selectedCatalog) rewrites() bool { return r.op.PlatformsMode == imageset.PlatformsRewrite }

// smallerIndexes are the images of a plan after indexes were rewritten.
type smallerIndexes struct {
	images []resolvedImage
	// digests are those of the smaller indexes, by the index that each was made from.
	digests map[digest.Digest]digest.Digest
}

// rewriteIndexes replaces indexes without some of their platforms by smaller ones, if the requests ask for that and nothing
// pins the digest. An index that is pinned gets all its platforms instead. So no index is sparse that a request rewrites.
func (g *manifestGraph) rewriteIndexes(ctx context.Context, found []resolvedImage, sources Sources, opts Options) (smallerIndexes, error) {
	s := smallerIndexes{images: found, digests: map[digest.Digest]digest.Digest{}}
	byDigest := map[digest.Digest][]int{}
	for i, r := range found {
		if r.err == nil {
			byDigest[r.digest] = append(byDigest[r.digest], i)
		}
	}
	var wanted []digest.Digest // in the order of the requests
	pins := map[digest.Digest][]string{}
	var whole []*imageRequest
	var wholeAt []int
	for i, r := range found {
		if r.err != nil || byDigest[r.digest][0] != i {
			continue
		}
		same := byDigest[r.digest]
		rewrite := slices.ContainsFunc(same, func(at int) bool { return found[at].request.rewrite })
		if !rewrite || !g.isSparse(r.digest) {
			continue
		}
		for _, at := range same {
			pins[r.digest] = append(pins[r.digest], found[at].request.pins...)
		}
		if len(pins[r.digest]) == 0 {
			wanted = append(wanted, r.digest)
			continue
		}
		for _, at := range same {
			w := *found[at].request
			w.all, w.digest = true, r.digest
			whole, wholeAt = append(whole, &w), append(wholeAt, at)
		}
	}
	again, err := g.resolveAll(ctx, whole, opts.withoutProgress())
	if err != nil {
		return s, err
	}
	for i, r := range again {
		img := &s.images[wholeAt[i]]
		why := pins[img.digest]
		slices.Sort(why)
		img.notRewritten = strings.Join(slices.Compact(why), "; ")
		if r.err != nil {
			img.err = fmt.Errorf("all its platforms are needed, because %s: %w", img.notRewritten, r.err)
		}
	}
	for _, d := range wanted {
		if !g.isSparse(d) {
			continue // a pinned index needs all of it
		}
		made, err := g.makeSmaller(ctx, found[byDigest[d][0]].request.source, d, sources)
		if err != nil {
			return s, err
		}
		s.digests[d] = made
		for _, at := range byDigest[d] {
			s.images[at].digest, s.images[at].rewrittenFrom = made, d
		}
	}
	return s, nil
}

// isSparse reports whether an index, or one in it, has children that no request selects.
func (g *manifestGraph) isSparse(d digest.Digest) bool {
	n := g.node(d)
	return slices.ContainsFunc(n.children, func(c ocispec.Descriptor) bool { return !n.selected[c.Digest] || g.isSparse(c.Digest) })
}

// notes returns what the reader of the plan should know about smaller indexes.
func (s smallerIndexes) notes(cfg imageset.Mirror) (notes []string) {
	var kept []string
	asked := false
	for _, r := range s.images {
		asked = asked || r.request.rewrite
		if r.notRewritten != "" && r.err == nil {
			kept = append(kept, r.request.source)
		}
	}
	if n := len(s.digests); n > 0 {
		notes = append(notes, fmt.Sprintf("%s with a smaller index: clusters find them by tag or through the filtered catalog; the digest of the original is not in the mirror", count(n, "image is mirrored", "images are mirrored")))
	}
	if n := len(kept); n > 0 {
		notes = append(notes, fmt.Sprintf("%s: other content names their digests, so all their platforms are mirrored: %s; gantry plan explain prints why",
			count(n, "image cannot get a smaller index", "images cannot get a smaller index"), shortList(kept)))
	}
	if p := cfg.Platform; asked && p != nil && len(p.Platforms) > 0 {
		notes = append(notes, "platformsMode: rewrite does not apply to releases, whose payloads name the digests of all images: platforms needs a mirror that accepts sparse indexes; use architectures otherwise")
	}
	return notes
}
