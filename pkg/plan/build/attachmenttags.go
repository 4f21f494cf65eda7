package build

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Attachments finds what sources store beside images and what belongs to them: signatures,
// attestations, bills of materials, and other referrers. source is an image reference or oci://DIR.
type Attachments interface {
	// TagPages calls see with the tags of source's repository that follow after in lexical order, or
	// all tags if after is "", page by page, until it returns false. A source that ignores after returns
	// other tags, too. all reports whether the list came to its end. If the source does not list tags,
	// the error matches errors.ErrUnsupported.
	TagPages(ctx context.Context, source, after string, see func(page []string) (more bool)) (all bool, err error)
	// Referrers returns the descriptors of the manifests in source's repository that refer to subject.
	// supported is false if the source has no such list: then referrers are listed by tag.
	Referrers(ctx context.Context, source string, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error)
	// ParseReferrers reads a list of referrers that a tag names.
	ParseReferrers(raw []byte) ([]ocispec.Descriptor, error)
}

// The tags of what belongs to a manifest consist of its digest and an ending. The tag without an ending lists its referrers.
type tagKinds uint8

const (
	referrersTag tagKinds = 1 << iota
	signatureTag
	attestationTag
	sbomTag
	allTags = referrersTag | signatureTag | attestationTag | sbomTag
)

// An attachmentTag is a kind of images that have such tags.
type attachmentTag struct {
	bit    tagKinds
	ending string
	kind   plan.ImageKind
}

var attachmentTags = []attachmentTag{
	{signatureTag, ".sig", plan.SignatureImage},
	{attestationTag, ".att", plan.AttestationImage},
	{sbomTag, ".sbom", plan.SBOMImage},
	{referrersTag, "", plan.ReferrerImage},
}

// tagPrefix begins the tags of everything that belongs to manifests with SHA-256 digests.
const tagPrefix = "sha256-"

// parseAttachmentTag returns the digest in a tag, and the kind of its ending.
func parseAttachmentTag(tag string) (key [32]byte, kind tagKinds, ok bool) {
	rest, ok := strings.CutPrefix(tag, tagPrefix)
	if !ok || len(rest) < 64 {
		return key, 0, false
	}
	if _, err := hex.Decode(key[:], []byte(rest[:64])); err != nil || strings.ToLower(rest[:64]) != rest[:64] {
		return key, 0, false
	}
	i := slices.IndexFunc(attachmentTags, func(t attachmentTag) bool { return t.ending == rest[64:] })
	if i < 0 {
		return key, 0, false
	}
	return key, attachmentTags[i].bit, true
}

// maxTagNames is how many tags of attachments in one repository are kept in memory.
const maxTagNames = 200_000

// A tagIndex is the tags of attachments in a repository, as far as they were listed.
type tagIndex struct {
	names map[[32]byte]tagKinds
	// complete means that all such tags are in names, otherwise those up to the tag upTo are.
	complete bool
	upTo     string
	// empty means that no tag was listed at all.
	empty bool
}

// find returns the tags of what belongs to a manifest. known is false if the list does not show it.
func (x *tagIndex) find(d digest.Digest) (kinds tagKinds, known bool) {
	last := tagPrefix + d.Encoded() + ".sig" // the last of them in lexical order
	key, _, ok := parseAttachmentTag(last)
	if d.Algorithm() != digest.SHA256 || !ok {
		return 0, true // such a tag would be too long
	}
	return x.names[key], x.complete || x.upTo >= last
}

// listAttachmentTags lists the tags of attachments in a repository. The first request shows whether the source sorts tags; if
// it does, other tags are skipped. It reads at most a number of pages that is worth it: a repository may have a million tags,
// and what belongs to a few images can be requested by name.
func listAttachmentTags(ctx context.Context, source Attachments, repository string, subjects int) (*tagIndex, error) {
	x := &tagIndex{names: map[[32]byte]tagKinds{}}
	limit, pages, sorted, last, skip := max(16, subjects/4), 0, true, "", false
	x.empty = true
	see := func(page []string) bool {
		x.empty = x.empty && len(page) == 0
		for _, tag := range page {
			sorted = sorted && tag >= last
			last = tag
			if key, kind, ok := parseAttachmentTag(tag); ok {
				x.names[key] |= kind
			}
		}
		pages++
		x.complete = sorted && last > tagPrefix && !strings.HasPrefix(last, tagPrefix)
		skip = sorted && pages == 1 && last < tagPrefix
		tooMany := pages >= limit || sorted && len(page) > 0 && page[0] > tagPrefix && expectedPages(last) > float64(limit)
		return !x.complete && !skip && !tooMany && len(x.names) < maxTagNames
	}
	all, err := source.TagPages(ctx, repository, "", see)
	if err == nil && !all && skip {
		last = ""
		all, err = source.TagPages(ctx, repository, tagPrefix, see)
	}
	if sorted {
		x.upTo = last
	}
	x.complete = x.complete || all && err == nil
	return x, err
}

// expectedPages estimates how many pages as long as the first, which ends with a tag, a list of tags
// with digests has: digests are evenly distributed.
func expectedPages(last string) float64 {
	rest, ok := strings.CutPrefix(last, tagPrefix)
	if !ok || len(rest) < 8 {
		return 1
	}
	n, err := strconv.ParseUint(rest[:8], 16, 32)
	if err != nil {
		return 1
	}
	return math.MaxUint32 / float64(n+1)
}

// errNotListed is the error of a tag that a complete list does not have.
func errNotListed(tag string) error {
	return fmt.Errorf("its repository has no tag %s: %w", tag, fs.ErrNotExist)
}
