package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Belongs reports whether images of this kind belong to another image, their Subject: they are copied
// with it and sign it, attest to it or describe it.
func (k ImageKind) Belongs() bool {
	switch k {
	case SignatureImage, AttestationImage, SBOMImage, ReferrerImage:
		return true
	}
	return false
}

// Names returns the names of the image in the mirror, without the registry: "repository:tag" for each
// tag, or "repository@digest" if it has none.
func (img *Image) Names() []string {
	if len(img.Tags) == 0 {
		return []string{img.Repository + "@" + string(img.Digest)}
	}
	names := make([]string, len(img.Tags))
	for i, tag := range img.Tags {
		names[i] = img.Repository + ":" + tag
	}
	return names
}

// checkSubject returns an error unless tags and subject fit the kind of the image.
func (img *Image) checkSubject() error {
	switch {
	case img.Subject != "" && !img.Kind.Belongs():
		return fmt.Errorf("it has a subject, but it is of kind %s", quoted(img.Kind))
	case img.Subject == img.Digest && img.Subject != "":
		return errors.New("it is its own subject")
	case img.Kind != ReferrerImage && len(img.Tags) == 0:
		return errors.New("it has no tag")
	case img.Kind == ReferrerImage && (img.Subject == "" || len(img.Tags) > 0):
		return errors.New("a referrer has a subject and no tag")
	case !reference.IsPath(img.Repository):
		return fmt.Errorf("%s is not a repository path", quoted(img.Repository))
	case img.Subject != "":
		return checkDigest("the subject", img.Subject)
	}
	return nil
}

// sourceOfSubject returns the source of the image that img belongs to, "" if it belongs to none.
func (p *Plan) sourceOfSubject(img *Image) string {
	if img.Subject == "" {
		return ""
	}
	contents, err := p.Contents()
	if err != nil {
		return "" // the plan was not checked
	}
	for i := range p.Images {
		other, found := &p.Images[i], false
		if other.Repository != img.Repository {
			continue
		}
		_ = contents.Walk(other.Digest, // the plan was checked
			func(m *Manifest) error { found = found || m.Digest == img.Subject; return nil },
			func(Blob) error { return nil })
		if found {
			return other.Source
		}
	}
	return ""
}

// A place is a manifest in a repository.
type place struct {
	repository string
	digest     digest.Digest
}

// WithAttached returns images of the plan, and those of the plan that belong to them.
func (p *Plan) WithAttached(images []Image) ([]Image, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	have, all := map[string]bool{}, slices.Clone(images)
	for i := range images {
		for _, name := range images[i].Names() {
			have[name] = true
		}
	}
	for i := range p.Images {
		if img := &p.Images[i]; img.Subject != "" && !have[img.Names()[0]] {
			all = append(all, *img)
		}
	}
	return withoutOrphans(all, contents, len(images))
}

// withoutOrphans returns the images without those that belong to images which are not among them. The
// first of them, as many as keep, stay in any case. contents are those of the plan that the images are
// from.
func withoutOrphans(images []Image, contents *Contents, keep int) ([]Image, error) {
	if !slices.ContainsFunc(images, func(img Image) bool { return img.Subject != "" }) {
		return images, nil
	}
	kept := make([]bool, len(images))
	var next []int
	waiting := map[place][]int{} // for the subject
	for i := range images {
		if img := &images[i]; i >= keep && img.Subject != "" {
			at := place{img.Repository, img.Subject}
			waiting[at] = append(waiting[at], i)
		} else {
			next = append(next, i)
		}
	}
	// What belongs to an image may have signatures itself: it is added when its subject was.
	for len(next) > 0 {
		i := next[len(next)-1]
		next, kept[i] = next[:len(next)-1], true
		err := contents.Walk(images[i].Digest, func(m *Manifest) error {
			at := place{images[i].Repository, m.Digest}
			next = append(next, waiting[at]...)
			delete(waiting, at)
			return nil
		}, func(Blob) error { return nil })
		if err != nil {
			return nil, err
		}
	}
	all := make([]Image, 0, len(images))
	for i := range images {
		if kept[i] {
			all = append(all, images[i])
		}
	}
	return all, nil
}
