package plan

import (
	"strings"

	"github.com/opencontainers/go-digest"
)

// A Difference is the changes from one plan to another.
type Difference struct {
	Added   []ChangedImage `json:"added"`
	Removed []ChangedImage `json:"removed"`
	Changed []ChangedImage `json:"changed"`
	// AddedReleases and RemovedReleases are names of platform releases, ChangedReleases those with another
	// payload.
	AddedReleases   []string       `json:"addedReleases,omitempty"`
	RemovedReleases []string       `json:"removedReleases,omitempty"`
	ChangedReleases []ChangedImage `json:"changedReleases,omitempty"`
	// Catalogs are those that differ. Charts and Files are by their text and name; nil if none differs.
	Catalogs []ChangedCatalog `json:"catalogs,omitempty"`
	Charts   *Changes         `json:"charts,omitempty"`
	Files    *Changes         `json:"files,omitempty"`
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
	Kind ImageKind     `json:"kind,omitempty"`
	Old  digest.Digest `json:"old,omitempty"`
	New  digest.Digest `json:"new,omitempty"`
	Size int64         `json:"size"` // in bytes, before sharing; of the new image, if any
}

// Empty reports whether the two plans are equal.
func (d *Difference) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Catalogs)+d.NewContent+d.RemovedContent == 0 && d.Charts == nil && d.Files == nil &&
		len(d.AddedReleases)+len(d.RemovedReleases)+len(d.ChangedReleases) == 0
}

// Compare returns the differences by name. The lists of images are not nil.
func Compare(before, after *Outline) *Difference {
	d := &Difference{Added: []ChangedImage{}, Removed: []ChangedImage{}, Changed: []ChangedImage{}}
	images := compareImages(before.images, after.images)
	d.Added, d.Removed, d.Changed = append(d.Added, images.Added...), append(d.Removed, images.Removed...), append(d.Changed, images.Changed...)
	releases := compareImages(before.releases, after.releases)
	for _, r := range releases.Added {
		d.AddedReleases = append(d.AddedReleases, r.Name)
	}
	for _, r := range releases.Removed {
		d.RemovedReleases = append(d.RemovedReleases, r.Name)
	}
	d.ChangedReleases = releases.Changed
	d.Charts, d.Files = compareImages(before.charts, after.charts).orNil(), compareImages(before.files, after.files).orNil()
	d.Catalogs = compareCatalogs(before.catalogs, after.catalogs)
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

// Changes are changes of charts or files by name.
type Changes struct {
	Added   []ChangedImage `json:"added,omitempty"`
	Removed []ChangedImage `json:"removed,omitempty"`
	Changed []ChangedImage `json:"changed,omitempty"`
}

// orNil returns nil for no changes.
func (c *Changes) orNil() *Changes {
	if len(c.Added)+len(c.Removed)+len(c.Changed) == 0 {
		return nil
	}
	return c
}

// compareImages returns the differences of two lists by name.
func compareImages(before, after []outlinedImage) *Changes {
	c := &Changes{}
	pairs(before, after, func(x *outlinedImage) string { return x.name }, func(old, now *outlinedImage) {
		switch {
		case old == nil:
			c.Added = append(c.Added, ChangedImage{Name: now.name, Kind: now.kind, New: now.digest, Size: now.size})
		case now == nil:
			c.Removed = append(c.Removed, ChangedImage{Name: old.name, Kind: old.kind, Old: old.digest, Size: old.size})
		case old.digest != now.digest:
			c.Changed = append(c.Changed, ChangedImage{Name: now.name, Kind: now.kind, Old: old.digest, New: now.digest, Size: now.size})
		}
	})
	return c
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
