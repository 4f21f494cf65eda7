package airgap

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// checkStreams is how many requests for bases are made at once if Site.Streams is 0.
const checkStreams = 4

// checkBases finds out, before anything is copied, whether the mirror lets the blobs be read that deltas of the archive
// are based on. If it refuses, problem is the error: with the folders of the earlier archives it need not be read.
// If the workspace does not know of the import of these archives, it also finds out which of the blobs the mirror does
// not have. Otherwise a blob that was lost since then is requested when it is needed, and everything else is imported.
func (c *Import) checkBases(ctx context.Context, p *plan.Plan) (problem, err error) {
	c.absentBases = nil
	asked := neededBases(c.Archive, p)
	if c.site == nil || len(asked) == 0 {
		return nil, nil
	}
	known := len(c.neverImported()) == 0
	if known {
		asked = slices.CompactFunc(asked, func(a, b archive.DeltaBase) bool { return a.Repository == b.Repository })
	}
	to, err := c.site.Registry(p)
	if err != nil {
		return nil, err
	}
	absent, answers := make([]bool, len(asked)), make([]error, len(asked))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(c.site.Streams, checkStreams))
	for i := range asked {
		g.Go(func() error {
			has, err := to.HasBlob(gctx, asked[i].Repository, asked[i].Descriptor())
			absent[i], answers[i] = !has && err == nil, err // other errors occur again when it is read
			return context.Cause(gctx)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	answers = append(answers, c.tryBase(ctx, to, asked, absent))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, answer := range answers {
		if advice.KindOf(answer) == advice.Unauthorized {
			return c.refusedError(ctx, p, to, answer), context.Cause(ctx)
		}
	}
	c.absentBases = map[digest.Digest]bool{}
	for i := range asked {
		c.absentBases[asked[i].Digest] = absent[i] && !known
	}
	return nil, nil
}

// neededBases returns the blobs that deltas of a plan are based on and that are in none of the folders, by repository.
func neededBases(have *archive.Archive, p *plan.Plan) []archive.DeltaBase {
	var all []archive.DeltaBase
	seen := map[digest.Digest]bool{}
	for desc := range mirror.Content(p) {
		for _, b := range have.MissingBases(desc) {
			if !seen[b.Digest] {
				seen[b.Digest] = true
				all = append(all, b)
			}
		}
	}
	elements.Sort(all, func(a, b archive.DeltaBase) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(string(a.Digest), string(b.Digest)))
	})
	return all
}

// tryBase opens the smallest of the blobs: some registries answer whether they have a blob and refuse to send it.
func (c *Import) tryBase(ctx context.Context, to mirror.Registry, all []archive.DeltaBase, absent []bool) error {
	smallest := -1
	for i := range all {
		if !absent[i] && (smallest < 0 || all[i].Size < all[smallest].Size) {
			smallest = i
		}
	}
	from, ok := to.(blobReader)
	if !ok || smallest < 0 {
		return nil
	}
	body, err := from.Blob(ctx, all[smallest].Repository, all[smallest].Descriptor(), 0)
	if err != nil {
		return err
	}
	return body.Close()
}

// shownBlobs is how many blobs a message lists.
const shownBlobs = 3

// refusedError returns the error for deltas that need blobs of a mirror that refuses to be read from. It returns nil
// if the mirror has all blobs that are carried as deltas already.
func (c *Import) refusedError(ctx context.Context, p *plan.Plan, to mirror.Registry, cause error) error {
	isWhole := func(desc ocispec.Descriptor) bool { return len(c.Archive.MissingBases(desc)) == 0 }
	needed, err := mirror.MissingContent(ctx, p, to, isWhole, mirror.Options{Streams: c.site.Streams, MountFrom: c.site.MountFrom})
	if err == nil && len(needed) == 0 {
		return nil
	}
	if err != nil { // it refuses to be asked, too
		needed = slices.DeleteFunc(slices.Collect(mirror.Content(p)), isWhole)
	}
	var names []string
	var size int64
	for _, desc := range needed {
		if len(names) < shownBlobs {
			base := c.Archive.MissingBases(desc)[0]
			names = append(names, fmt.Sprintf("%s needs %s of %s", desc.Digest, base.Digest, base.Repository))
		}
		size += desc.Size
	}
	what := "a blob"
	if n := len(needed); n > 1 {
		what = fmt.Sprintf("%d blobs", n)
	}
	if more := len(needed) - shownBlobs; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	hint := "or write the archive again with Options.Delta off"
	if absent := absentSets(c.Archive); len(absent) > 0 {
		hint = bringHint(absent, absent[0].Sequence-1, len(c.from)) + ", " + hint
	}
	return advice.Wrap(advice.Unauthorized, fmt.Errorf("sequence %d carries %s (%s) as deltas of blobs that the mirror refuses to send: %s; %w",
		c.Archive.Selected().Sequence, what, progress.Bytes(size), strings.Join(names, ", "), cause), "permit pulls, "+hint)
}

// lacksBases reports whether a blob is carried as a delta of something that can be read nowhere, as far as that is known.
func (c *Import) lacksBases(desc ocispec.Descriptor) bool {
	return slices.ContainsFunc(c.Archive.MissingBases(desc), func(b archive.DeltaBase) bool { return c.site == nil || c.absentBases[b.Digest] })
}

// basesOf returns content, with the bases that blobs lack in place of the blobs, each once.
func (c *Import) basesOf(missing []ocispec.Descriptor) []ocispec.Descriptor {
	var all []ocispec.Descriptor
	seen := map[digest.Digest]bool{}
	add := func(desc ocispec.Descriptor) {
		if !seen[desc.Digest] {
			seen[desc.Digest] = true
			all = append(all, desc)
		}
	}
	for _, desc := range missing {
		if c.Archive.CheckContent(desc) != nil {
			add(desc)
			continue
		}
		for _, b := range c.Archive.MissingBases(desc) {
			if c.site == nil || c.absentBases[b.Digest] {
				add(b.Descriptor())
			}
		}
	}
	return all
}
