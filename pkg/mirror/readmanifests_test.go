package mirror

import (
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestReadManifestsAreLimited adds more than may be in memory: then none stay.
func TestReadManifestsAreLimited(t *testing.T) {
	t.Parallel()
	texts := map[digest.Digest][]byte{}
	var all []digest.Digest
	for i := range 6 {
		text := make([]byte, maxReadManifests/4)
		text[0] = byte(i)
		all = append(all, digest.FromBytes(text))
		texts[all[i]] = text
	}
	for n, want := range map[int]int{1: 1, 4: 4, 5: 0, 6: 0} {
		var r readManifests
		found := 0
		for _, d := range all[:n] {
			r.add(d, texts[d])
			r.add(d, texts[d]) // counts once
		}
		for _, d := range all {
			if raw := r.find(d); raw != nil {
				fail.Diff(t, d, digest.FromBytes(raw))
				found++
			}
		}
		if found != want {
			t.Errorf("of %d, %d are in memory, want %d", n, found, want)
		}
	}
}
