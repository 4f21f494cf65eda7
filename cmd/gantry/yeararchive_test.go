package main

import (
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/archive"
)

// changedCatalog is how many manifests and blobs a changed catalog of two platforms has: the index, a manifest and a
// config for each platform, and one layer.
const changedCatalog = 6

// checkArchive checks that an archive contains exactly what the one before did not have, and the catalog.
func (y *year) checkArchive(week int, disk string) {
	y.t.Helper()
	s := y.sets[1]
	content, fresh := map[string]bool{}, map[string]bool{}
	add := func(d string) {
		if d != "" { // an index has no config
			content[d] = true
			fresh[d] = !s.carried[d]
		}
	}
	for _, ref := range weeklyImages(y.t, s.packages, week) {
		for _, m := range y.source.tree(y.t, ref.Path, ref.Identifier()) {
			add(m.Digest)
			for _, b := range append(m.Layers, m.Config) {
				add(b.Digest)
			}
		}
	}
	others := 0
	if sets, _ := filepath.Glob(filepath.Join(disk, "gantry-*.json")); len(sets) > 0 {
		have, err := archive.Open(disk)
		if err != nil {
			y.t.Fatal(err)
		}
		defer have.Close()
		for e := range have.Entries() {
			d := e.Digest.String()
			switch {
			case !e.IsContent:
			case !fresh[d]: // of the catalog
				if others++; s.carried[d] {
					y.t.Errorf("week %d: the archive has %s, like the one before", week, d)
				}
			default:
				delete(fresh, d)
			}
		}
	}
	for d, missing := range fresh {
		if missing {
			y.t.Errorf("week %d: the archive does not have %s", week, d)
		}
	}
	if others > changedCatalog && week > 1 {
		y.t.Errorf("week %d: the archive has %d manifests and blobs that are neither new nor of a changed catalog", week, others-changedCatalog)
	}
	s.carried = content
}
