package plan

import (
	"cmp"

	"github.com/opencontainers/go-digest"
)

// A Change is how something differs between two plans.
type Change string

// The changes. Moved means that the name now has other content.
const (
	ChangeAdded   Change = "added"
	ChangeMoved   Change = "moved"
	ChangeRemoved Change = "removed"
)

// A ChangedCatalog is a catalog that differs, by its name (Catalog.Name). It has no packages if only
// something else in its image differs.
type ChangedCatalog struct {
	Name     string           `json:"name"`
	Change   Change           `json:"change"`
	Old      digest.Digest    `json:"old,omitempty"`
	New      digest.Digest    `json:"new,omitempty"`
	Packages []ChangedPackage `json:"packages,omitempty"`
}

// A ChangedPackage is a package that differs, with the channels that differ.
type ChangedPackage struct {
	Name     string           `json:"name"`
	Change   Change           `json:"change"`
	Channels []ChangedChannel `json:"channels,omitempty"`
}

// A ChangedChannel is a channel that differs. Moved are bundles that have another image now.
type ChangedChannel struct {
	Name    string   `json:"name"`
	Change  Change   `json:"change"`
	OldHead string   `json:"oldHead,omitempty"`
	NewHead string   `json:"newHead,omitempty"`
	Added   []string `json:"added,omitempty"`
	Moved   []string `json:"moved,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// compareCatalogs returns the catalogs that differ.
func compareCatalogs(before, after []outlinedCatalog) (all []ChangedCatalog) {
	pairs(before, after, func(c *outlinedCatalog) string { return c.name }, func(old, now *outlinedCatalog) {
		c := ChangedCatalog{Change: changeOf(old, now)}
		old, now = orEmpty(old), orEmpty(now)
		c.Old, c.New = old.digest, now.digest
		c.Name = cmp.Or(now.name, old.name)
		if c.Packages = comparePackages(old.packages, now.packages); old.digest != now.digest || len(c.Packages) > 0 {
			all = append(all, c)
		}
	})
	return all
}

func comparePackages(before, after []outlinedPackage) (all []ChangedPackage) {
	pairs(before, after, func(p *outlinedPackage) string { return p.name }, func(old, now *outlinedPackage) {
		p := ChangedPackage{Change: changeOf(old, now)}
		old, now = orEmpty(old), orEmpty(now)
		p.Name = cmp.Or(now.name, old.name)
		if p.Channels = compareChannels(old.channels, now.channels); len(p.Channels) > 0 || p.Change != ChangeMoved {
			all = append(all, p)
		}
	})
	return all
}

func compareChannels(before, after []outlinedChannel) (all []ChangedChannel) {
	pairs(before, after, func(c *outlinedChannel) string { return c.name }, func(old, now *outlinedChannel) {
		c := ChangedChannel{Change: changeOf(old, now)}
		old, now = orEmpty(old), orEmpty(now)
		c.OldHead, c.NewHead = old.head, now.head
		c.Name = cmp.Or(now.name, old.name)
		pairs(old.bundles, now.bundles, func(b *outlinedBundle) string { return b.name }, func(old, now *outlinedBundle) {
			switch {
			case old == nil:
				c.Added = append(c.Added, now.name)
			case now == nil:
				c.Removed = append(c.Removed, old.name)
			case old.digest != now.digest && old.digest != "" && now.digest != "":
				c.Moved = append(c.Moved, now.name)
			}
		})
		if c.Change != ChangeMoved || c.OldHead != c.NewHead || len(c.Added)+len(c.Moved)+len(c.Removed) > 0 {
			all = append(all, c)
		}
	})
	return all
}

// changeOf returns the change from old to now. One of them may be nil.
func changeOf[T any](old, now *T) Change {
	switch {
	case old == nil:
		return ChangeAdded
	case now == nil:
		return ChangeRemoved
	}
	return ChangeMoved
}

// orEmpty returns an empty value for nil.
func orEmpty[T any](v *T) *T {
	return cmp.Or(v, new(T))
}
