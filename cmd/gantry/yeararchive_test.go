package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// An archivedSet is a set manifest, as docs/archive-format.md describes it.
type archivedSet struct {
	Volumes []struct {
		Name    string
		Size    int64
		Entries []struct {
			Path, Digest string
			Size         int64
		}
	}
}

// changedCatalog is how many manifests and blobs a changed catalog of two platforms has: the index, a manifest and a
// config for each platform, and one layer.
const changedCatalog = 6

// checkArchive checks that an archive contains exactly what the one before did not have, and the catalog, and that
// it has as many bytes as docs/archive-format.md says for that.
func (y *year) checkArchive(week int, disk string) {
	y.t.Helper()
	s := y.sets[1]
	content, fresh := map[string]bool{}, map[string]int64{}
	add := func(d string, size int64) {
		if d != "" && !s.carried[d] { // an index has no config
			fresh[d] = size
		}
		content[d] = true
	}
	for _, ref := range weeklyImages(y.t, s.packages, week) {
		for _, m := range y.source.tree(y.t, ref.Path, ref.Identifier()) {
			add(m.Digest, m.Size)
			for _, b := range append(m.Layers, m.Config) {
				add(b.Digest, b.Size)
			}
		}
	}
	sets, err := filepath.Glob(filepath.Join(disk, "gantry-*.json"))
	if err != nil {
		y.t.Fatal(err)
	}
	if len(sets) == 0 { // nothing to copy
		if len(fresh) > 0 {
			y.t.Errorf("week %d has no archive, and %d new manifests and blobs", week, len(fresh))
		}
		s.carried = content
		return
	}
	var set archivedSet
	text, err := os.ReadFile(sets[0])
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil || len(sets) > 1 || len(set.Volumes) != 1 {
		y.t.Fatalf("week %d: %v, %v", week, sets, err)
	}
	volume := set.Volumes[0]
	size, others := int64(1024), 0
	for _, e := range volume.Entries {
		size += 512 + (e.Size+511)/512*512
		want, isFresh := fresh[e.Digest]
		switch {
		case e.Path != "":
		case !isFresh: // of the catalog
			if others++; s.carried[e.Digest] {
				y.t.Errorf("week %d: the archive has %s, like the one before", week, e.Digest)
			}
		case e.Size != want:
			y.t.Errorf("week %d: %s has %d bytes, want %d", week, e.Digest, e.Size, want)
		default:
			delete(fresh, e.Digest)
		}
	}
	for d := range fresh {
		y.t.Errorf("week %d: the archive does not have %s", week, d)
	}
	info, err := os.Stat(filepath.Join(disk, volume.Name))
	if err != nil || info.Size() != size || volume.Size != size {
		y.t.Errorf("week %d: %v; the volume has %d bytes, its entries need %d", week, err, volume.Size, size)
	}
	files, err := os.ReadDir(disk)
	if err != nil {
		y.t.Fatal(err)
	}
	for _, f := range files {
		if name := f.Name(); name != volume.Name && !strings.HasPrefix(name, filepath.Base(sets[0])) {
			y.t.Errorf("week %d: the disk also has %s", week, name)
		}
	}
	if others > changedCatalog && week > 1 {
		y.t.Errorf("week %d: the archive has %d manifests and blobs that are neither new nor of a changed catalog", week, others-changedCatalog)
	}
	y.t.Logf("week %d: the archive has %d bytes", week, size)
	s.carried = content
}
