package inspect

import (
	"context"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// ArchiveListOptions says what ListArchiveImages and ListArchiveContent list.
type ArchiveListOptions struct {
	open.Options
	// Filter selects images by name (repository or repository:tag), digest or source, or content by
	// digest, volume, path or media type. * matches any text, ? one character. The default is all.
	Filter []string
}

// ListArchiveImages lists the images of an archive under the names that they get in a mirror. Only the
// set manifest and the plan are read.
func ListArchiveImages(ctx context.Context, o ArchiveListOptions) (*ArchiveImages, error) {
	have, err := open.Archive(o.Options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		return nil, err
	}
	return newArchiveImages(have, p, airgap.NewNamePattern(o.Filter...))
}

// ListArchiveContent lists the manifests and blobs of an archive with their volumes and offsets. Only
// the set manifest is read.
func ListArchiveContent(o ArchiveListOptions) (*ArchiveContent, error) {
	have, err := open.Archive(o.Options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	names := airgap.NewNamePattern(o.Filter...)
	list := &ArchiveContent{Version: 1, Content: []ArchivedContent{}}
	for e := range have.Entries() {
		if !e.IsContent || !names.Match(append(namesOfDelta(have, e.Digest), string(e.Digest), e.Volume, e.Path, e.MediaType)...) {
			continue
		}
		x := ArchivedContent{
			Digest: e.Digest, MediaType: e.MediaType, Size: e.Size, Sequence: e.Set.Sequence, Repair: e.Repair,
			Volume: e.Volume, Offset: e.Offset, Part: e.Part, Parts: e.Parts, At: e.ContentOffset,
		}
		if e.Parts > 0 {
			x.Whole = e.ContentSize
		}
		if blob, ok := have.BlobOf(e.Digest); ok {
			x.DeltaOf, x.BlobSize = blob.Digest, blob.Size
		}
		list.Content = append(list.Content, x)
	}
	return list, nil
}

// namesOfDelta returns the digest of the blob that content is a delta for.
func namesOfDelta(have *archive.Archive, d digest.Digest) []string {
	if blob, ok := have.BlobOf(d); ok {
		return []string{string(blob.Digest)}
	}
	return nil
}

// ArchiveContent is the result of ListArchiveContent. Its JSON is what gantry archive list --blobs
// --output json prints.
type ArchiveContent struct {
	Version int               `json:"version"`
	Content []ArchivedContent `json:"content"`
}

// An ArchivedContent is a manifest, a blob or a part of one in a volume.
type ArchivedContent struct {
	Digest    digest.Digest `json:"digest"`
	MediaType string        `json:"mediaType,omitempty"` // of a manifest
	Size      int64         `json:"size"`                // of the bytes at Offset
	Sequence  int           `json:"sequence"`
	Repair    bool          `json:"repair,omitempty"`
	Volume    string        `json:"volume"`
	Offset    int64         `json:"offset"`
	// Part is the number of the part, from 1 to Parts. At is its offset in the content, and Whole
	// the size of the content. All are 0 if the content is in one piece.
	Part  int   `json:"part,omitempty"`
	Parts int   `json:"parts,omitempty"`
	At    int64 `json:"at,omitempty"`
	Whole int64 `json:"whole,omitempty"`
	// DeltaOf is the blob that this is a delta for, and BlobSize the size of that.
	DeltaOf  digest.Digest `json:"deltaOf,omitempty"`
	BlobSize int64         `json:"blobSize,omitempty"`
}

// ArchiveImages is the result of ListArchiveImages. Its JSON is what gantry archive list --output json
// prints.
type ArchiveImages struct {
	Version int             `json:"version"`
	Images  []ArchivedImage `json:"images"`
}

// An ArchivedImage is one name of an image of an archive.
type ArchivedImage struct {
	Name   string              `json:"name"` // "repository:tag", or "repository@digest" if it has no tag
	Kind   plan.ImageKind      `json:"kind"`
	Digest digest.Digest       `json:"digest"`
	Size   int64               `json:"size"` // in bytes, without regard to shared content
	Source string              `json:"source"`
	Here   airgap.Availability `json:"here"`
}

// newArchiveImages lists the images of an archive's plan whose names match.
func newArchiveImages(have *archive.Archive, p *plan.Plan, names airgap.NamePattern) (*ArchiveImages, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	list := &ArchiveImages{Version: 1, Images: []ArchivedImage{}}
	for i := range p.Images {
		img := &p.Images[i]
		here := airgap.Availability("")
		for _, name := range img.Names() {
			if !names.Match(name, img.Repository, string(img.Digest), img.Source) {
				continue
			}
			if here == "" {
				here = airgap.CheckImage(have, contents, img)
			}
			list.Images = append(list.Images, ArchivedImage{name, img.Kind, img.Digest, img.Size, img.Source, here})
		}
	}
	return list, nil
}
