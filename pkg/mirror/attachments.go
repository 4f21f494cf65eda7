package mirror

import (
	"context"
	"fmt"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// In a registry, what belongs to an image (its signatures and other referrers) is pushed before the
// image's tags, so that a client which sees the tag sees the signatures, too. What is found by a tag of
// its own, as cosign's signatures are, is pushed before the image. A referrer is pushed after the image
// and before its tags, which takes one more request: registries may refuse a referrer without its
// subject. Catalogs and releases are pushed as a whole when everything they wait for is there.

// linkAttachments finds which attachments each image that is pushed has. Attachments may have
// attachments themselves; an image never waits for itself, whatever tags name what.
func (r *run) linkAttachments() {
	if r.registry == nil {
		return
	}
	type place struct {
		repository string
		digest     digest.Digest
	}
	holders := map[place][]*image{}
	level := map[*image]int{} // 1: belongs to no image
	var attachments []*image
	for _, img := range r.images {
		if img.Subject == "" {
			continue
		}
		attachments = append(attachments, img)
		holders[place{img.repository, img.Subject}] = nil
	}
	if len(attachments) == 0 {
		return
	}
	for _, img := range r.images {
		if img.Subject == "" {
			level[img] = 1
		}
		for _, m := range img.manifests {
			if at := (place{img.repository, m.Digest}); img.Digest != img.Subject {
				if have, wanted := holders[at]; wanted {
					holders[at] = append(have, img)
				}
			}
		}
	}
	hasAttachments := map[*image]bool{}
	for _, img := range attachments {
		for _, h := range holders[place{img.repository, img.Subject}] {
			hasAttachments[h] = true
		}
	}
	for depth := 1; len(attachments) > 0; depth++ {
		var rest []*image
		for _, img := range attachments {
			var of []*image
			for _, h := range holders[place{img.repository, img.Subject}] {
				if at := level[h]; 0 < at && at <= depth {
					of = append(of, h)
				}
			}
			if len(of) == 0 {
				rest = append(rest, img)
				continue
			}
			level[img] = depth + 1
			if !img.present {
				img.attachTo(of, !hasAttachments[img] && !img.isReferrer())
			}
		}
		if len(rest) == len(attachments) {
			return // what they belong to is not copied
		}
		attachments = rest
	}
}

// attachTo makes the images that this one belongs to wait for it: with their tags, or, if it is pushed
// first, with all their manifests. One that waits for attachments of its own cannot be pushed first,
// because these could wait for its holders.
func (img *image) attachTo(holders []*image, first bool) {
	for _, h := range holders {
		switch {
		case h.present:
			continue
		case h.publishedLast() || first:
			h.waiting++
		default:
			img.waiting++
			h.ensureWaits().attachments = append(h.ensureWaits().attachments, img)
			if len(h.Tags) == 0 {
				continue
			}
		}
		img.ensureWaits().tagsWaiting = append(img.ensureWaits().tagsWaiting, h)
	}
}

// attachmentPushed lets the tags wait no longer for an image that was pushed, or failed.
func (r *run) attachmentPushed(img *image) {
	if img.waits == nil {
		return
	}
	for _, h := range img.waits.tagsWaiting {
		r.dependencyDone(h, nil)
	}
	img.waits.tagsWaiting = nil
}

// A referrerLister is a Registry that lists the referrers of manifests.
type referrerLister interface {
	// Referrers returns the digests of the manifests that a repository lists as referrers of a subject.
	Referrers(ctx context.Context, repository string, subject digest.Digest) (map[digest.Digest]bool, error)
}

// isListed reports whether the registry lists a referrer, which is how clients find it. There is one
// request for all referrers of a manifest.
func (r *run) isListed(ctx context.Context, img *image) (bool, error) {
	lister, ok := r.registry.(referrerLister)
	if !ok {
		return true, nil
	}
	find, _ := r.referrers.LoadOrStore(pushKey{repository: img.repository, digest: img.Subject.String()}, sync.OnceValues(func() (map[digest.Digest]bool, error) {
		r.count.queries.Add(1)
		return lister.Referrers(ctx, img.repository, img.Subject)
	}))
	listed, err := find.(func() (map[digest.Digest]bool, error))()
	if err != nil {
		return false, fmt.Errorf("listing the referrers of %s: %w", img.Subject, err)
	}
	return listed[img.Digest], nil
}

// isReferrer reports whether the image is found by its subject and not by a tag.
func (img *image) isReferrer() bool { return img.Kind == plan.ReferrerImage }

// trusted reports whether the list of referrers is sufficient proof of an image in this run: an earlier
// one wrote to the repository, and it is not this image's turn to be requested.
func (v *repositoryCheck) trusted(img *image) bool {
	return !v.strict && !v.CheckBlobs && v.KnownTags.known(img.repository) && (int(img.Digest.Encoded()[0])+v.KnownTags.turn)%sampleEvery != 0
}
