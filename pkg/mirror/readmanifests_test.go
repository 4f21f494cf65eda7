package mirror

import (
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
)

// TestReadManifestsAreLimited adds more than may be in memory: the first stay, and what does not fit is left out.
func TestReadManifestsAreLimited(t *testing.T) {
	t.Parallel()
	var r readManifests
	text := make([]byte, maxReadManifests/4)
	var all []digest.Digest
	for i := range 6 {
		text[0] = byte(i)
		d := digest.FromBytes(text)
		r.add(d, slices.Clone(text))
		r.add(d, slices.Clone(text)) // counts once
		all = append(all, d)
	}
	for i, d := range all {
		if found := r.find(d) != nil; found != (i < 4) {
			t.Errorf("%d is in memory: %t", i, found)
		}
	}
	if r.size > maxReadManifests {
		t.Errorf("there are %d bytes in memory", r.size)
	}
}
