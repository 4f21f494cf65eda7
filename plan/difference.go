package plan

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// A Difference is what changed from one plan to another.
type Difference struct {
	Added   []ChangedImage `json:"added"`
	Removed []ChangedImage `json:"removed"`
	Changed []ChangedImage `json:"changed"`
	// AddedReleases and RemovedReleases are names of platform releases.
	AddedReleases   []string `json:"addedReleases,omitempty"`
	RemovedReleases []string `json:"removedReleases,omitempty"`
	// NewBytes is the content that the new plan has and the old one has not, each
	// blob and manifest once, GoneBytes the reverse.
	NewContent  int   `json:"newContent"`
	NewBytes    int64 `json:"newBytes"`
	GoneContent int   `json:"goneContent"`
	GoneBytes   int64 `json:"goneBytes"`
}

// A ChangedImage is an image by its name in a mirror.
type ChangedImage struct {
	Name string        `json:"name"`
	Old  digest.Digest `json:"old,omitempty"`
	New  digest.Digest `json:"new,omitempty"`
	Size int64         `json:"size"` // in bytes, before sharing; of the new one, where there is one
}

// Empty reports whether the two plans bring the same.
func (d *Difference) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+d.NewContent+d.GoneContent == 0
}

// An Outline is what two plans are compared by, each list in its order: the names of
// releases, the images by name, and every manifest and blob by what stands for its
// digest. It is a fraction of the plan.
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
	key  [sha256.Size]byte // stands for the digest, in less than half the room
	size int64             // bytes
}

// Outline is that of the plan, which need not be kept for it.
func (p *Plan) Outline() *Outline {
	o := &Outline{content: make([]outlinedContent, 0, len(p.Manifests)+len(p.Blobs))}
	for i := range p.Releases {
		o.releases = append(o.releases, p.Releases[i].Name())
	}
	for i := range p.Images {
		img := &p.Images[i]
		for _, tag := range img.Tags {
			o.images = append(o.images, outlinedImage{img.Repository + ":" + tag, img.Digest, img.Size})
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

// Compare finds what differs, by name; the lists of images are not nil.
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
			d.GoneContent, d.GoneBytes = d.GoneContent+1, d.GoneBytes+old.size
		}
	})
	return d
}

// pairs goes through two lists that are sorted by key. What only one of them has comes
// with nil in place of the other.
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
