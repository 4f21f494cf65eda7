package plan

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// A Difference is the changes from one plan to another.
type Difference struct {
	Added   []ChangedImage `json:"added"`
	Removed []ChangedImage `json:"removed"`
	Changed []ChangedImage `json:"changed"`
	// AddedReleases and RemovedReleases are names of platform releases.
	AddedReleases   []string `json:"addedReleases,omitempty"`
	RemovedReleases []string `json:"removedReleases,omitempty"`
	// NewBytes is the size of the content that only the new plan has, each blob and manifest once.
	// RemovedBytes is the size of the content that only the old plan has.
	NewContent     int   `json:"newContent"`
	NewBytes       int64 `json:"newBytes"`
	RemovedContent int   `json:"goneContent"`
	RemovedBytes   int64 `json:"goneBytes"`
}

// A ChangedImage is an image by its name in a mirror.
type ChangedImage struct {
	Name string        `json:"name"`
	Old  digest.Digest `json:"old,omitempty"`
	New  digest.Digest `json:"new,omitempty"`
	Size int64         `json:"size"` // in bytes, before sharing; of the new image, if any
}

// Empty reports whether the two plans are equal.
func (d *Difference) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+d.NewContent+d.RemovedContent == 0
}

// An Outline is the part of a plan that is compared, each list sorted: the names of releases, the
// images by name, and every manifest and blob by a hash of its digest. It is much smaller than the
// plan.
type Outline struct {
	releases []string
	images   []outlinedImage
	content  []outlinedContent
}

type outlinedImage struct {
	name   string
	digest digest.Digest
	size   int64 // bytes
}

type outlinedContent struct {
	key  [sha256.Size]byte // hash of the digest, less than half as long
	size int64             // bytes
}

// Outline returns the outline of the plan. The plan need not be kept.
func (p *Plan) Outline() *Outline {
	o := &Outline{content: make([]outlinedContent, 0, len(p.Manifests)+len(p.Blobs))}
	for i := range p.Releases {
		o.releases = append(o.releases, p.Releases[i].Name())
	}
	for i := range p.Images {
		img := &p.Images[i]
		for _, name := range img.Names() {
			o.images = append(o.images, outlinedImage{name, img.Digest, img.Size})
		}
	}
	for i := range p.Manifests {
		o.content = append(o.content, outlinedContent{sha256.Sum256([]byte(p.Manifests[i].Digest)), p.Manifests[i].Size})
	}
	for _, b := range p.Blobs {
		o.content = append(o.content, outlinedContent{sha256.Sum256([]byte(b.Digest)), b.Size})
	}
	slices.Sort(o.releases)
	slices.SortFunc(o.images, func(x, y outlinedImage) int { return strings.Compare(x.name, y.name) })
	slices.SortFunc(o.content, func(x, y outlinedContent) int { return bytes.Compare(x.key[:], y.key[:]) })
	return o
}

// Compare returns the differences by name. The lists of images are not nil.
func Compare(before, after *Outline) *Difference {
	d := &Difference{Added: []ChangedImage{}, Removed: []ChangedImage{}, Changed: []ChangedImage{}}
	pairs(before.releases, after.releases, func(name *string) string { return *name }, func(old, now *string) {
		switch {
		case old == nil:
			d.AddedReleases = append(d.AddedReleases, *now)
		case now == nil:
			d.RemovedReleases = append(d.RemovedReleases, *old)
		}
	})
	pairs(before.images, after.images, func(x *outlinedImage) string { return x.name }, func(old, now *outlinedImage) {
		switch {
		case old == nil:
			d.Added = append(d.Added, ChangedImage{Name: now.name, New: now.digest, Size: now.size})
		case now == nil:
			d.Removed = append(d.Removed, ChangedImage{Name: old.name, Old: old.digest, Size: old.size})
		case old.digest != now.digest:
			d.Changed = append(d.Changed, ChangedImage{Name: now.name, Old: old.digest, New: now.digest, Size: now.size})
		}
	})
	pairs(before.content, after.content, func(x *outlinedContent) string { return string(x.key[:]) }, func(old, now *outlinedContent) {
		switch {
		case old == nil:
			d.NewContent, d.NewBytes = d.NewContent+1, d.NewBytes+now.size
		case now == nil:
			d.RemovedContent, d.RemovedBytes = d.RemovedContent+1, d.RemovedBytes+old.size
		}
	})
	return d
}

// pairs iterates over two lists that are sorted by key. An entry that only one list has is passed
// with nil for the other.
func pairs[T any](old, now []T, key func(*T) string, each func(old, now *T)) {
	for len(old)+len(now) > 0 {
		var order int
		switch {
		case len(old) == 0:
			order = 1
		case len(now) == 0:
			order = -1
		default:
			order = strings.Compare(key(&old[0]), key(&now[0]))
		}
		var was, is *T
		if order <= 0 {
			was, old = &old[0], old[1:]
		}
		if order >= 0 {
			is, now = &now[0], now[1:]
		}
		each(was, is)
	}
}
