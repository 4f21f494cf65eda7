package gantry

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan"
)

// SignatureCount is how many signatures of images a run left at the sources. cosign stores them
// beside an image, under tags that are made of its digest. They are counted for the images of operators
// and additional images that the run copied, with one request for each of their repositories. A run
// that copies nothing makes no such requests.
type SignatureCount struct {
	// Signatures, Attestations and SBOMs are the tags with the endings .sig, .att and .sbom.
	Signatures   int `json:"signatures"`
	Attestations int `json:"attestations"`
	SBOMs        int `json:"sboms"`
	// Images is how many images were copied and looked for, and Signed how many of them have such tags.
	Images int `json:"images"`
	Signed int `json:"signed"`
	// Repositories is how many repositories were asked. Unlisted is how many of them did not list
	// all of their tags: what they have is not, or not completely, counted.
	Repositories int `json:"repositories"`
	Unlisted     int `json:"unlisted,omitempty"`
}

// Total returns the number of signatures, attestations and SBOMs.
func (c *SignatureCount) Total() int { return c.Signatures + c.Attestations + c.SBOMs }

// maxCounting is how long counting may take, so that a source that does not respond does not delay the
// result for long.
const maxCounting = 20 * time.Second

// A tagLister lists tags as remote.Client does.
type tagLister interface {
	TagsAfter(ctx context.Context, repo reference.Reference, after string) (tags []string, all bool, err error)
}

// A signable is a repository at a source and the manifests in it that may be signed, by the first part
// of the tags of their signatures. Its values are the images with the manifest.
type signable struct {
	repository reference.Reference
	images     map[string][]*plan.Image
}

// countSignatures counts the signatures of the images of a plan that were copied.
func (s *Session) countSignatures(ctx context.Context, p *plan.Plan, copied []*plan.Image) (*SignatureCount, error) {
	streams, err := s.env.Streams()
	if err != nil {
		return nil, err
	}
	return countSignatures(ctx, s.client, p, copied, streams)
}

// countSignatures counts the signatures of images of a plan. It returns nil if there is nothing to
// count.
func countSignatures(ctx context.Context, source tagLister, p *plan.Plan, copied []*plan.Image, streams int) (*SignatureCount, error) {
	repositories, images, err := signables(p, copied)
	if err != nil || len(repositories) == 0 {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxCounting)
	defer cancel()
	count := &SignatureCount{Images: images, Repositories: len(repositories)}
	signed := map[*plan.Image]bool{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(max(1, streams))
	for _, r := range repositories {
		g.Go(func() error {
			tags, all, err := source.TagsAfter(ctx, r.repository, signatureTag(""))
			mu.Lock()
			defer mu.Unlock()
			if err != nil || !all {
				count.Unlisted++
			}
			for _, tag := range tags {
				count.add(tag, r, signed)
			}
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	count.Signed = len(signed)
	return count, nil
}

// add counts a tag if it is the one of a signature.
func (c *SignatureCount) add(tag string, r *signable, signed map[*plan.Image]bool) {
	at := strings.LastIndexByte(tag, '.')
	if at < 0 || len(r.images[tag[:at]]) == 0 {
		return
	}
	switch tag[at:] {
	case ".sig":
		c.Signatures++
	case ".att":
		c.Attestations++
	case ".sbom":
		c.SBOMs++
	default:
		return
	}
	for _, img := range r.images[tag[:at]] {
		signed[img] = true
	}
}

// signables returns the repositories of images that may be signed, and the number of these images.
// Images of releases are not among them: their signatures are mirrored as clusters need them. Neither
// are images that are in no registry.
func signables(p *plan.Plan, copied []*plan.Image) (all []*signable, images int, err error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, 0, err
	}
	of := map[reference.Reference]*signable{}
	for _, img := range copied {
		ref, err := reference.Parse(img.Source)
		if err != nil || !slices.Contains([]plan.ImageKind{plan.BundleImage, plan.RelatedImage, plan.AdditionalImage, plan.CatalogImage}, img.Kind) {
			continue
		}
		var tags []string
		err = contents.Walk(img.Digest,
			func(m *plan.Manifest) error { tags = append(tags, signatureTag(m.Digest)); return nil },
			func(plan.Blob) error { return nil })
		if err != nil {
			continue // its package was excluded later, with OnErrorPackage
		}
		images++
		repository := ref.Repository()
		r := of[repository]
		if r == nil {
			r = &signable{repository, map[string][]*plan.Image{}}
			of[repository] = r
			all = append(all, r)
		}
		for _, tag := range tags {
			r.images[tag] = append(r.images[tag], img)
		}
	}
	return all, images, nil
}

// signatureTag returns the tag of a signature without its ending. Without a digest, it is what all of
// them begin with.
func signatureTag(d digest.Digest) string {
	if d == "" {
		return "sha256-"
	}
	return strings.Replace(d.String(), ":", "-", 1)
}
