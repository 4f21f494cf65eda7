package extract_test

import (
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// TestPickImages checks which of the tags of an image patterns select.
func TestPickImages(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	_, p := s.OpenArchive(s.Exported(s.Images("images.example.net/tools/netcheck:1.4"), "disk"))
	all := []string{"a1", "a2", "b"}
	p.Images[0].Tags = slices.Clone(all)
	name := p.Images[0].Repository
	for pattern, want := range map[string][]string{name: all, name + ":a?": {"a1", "a2"}, name + ":b": {"b"}, string(p.Images[0].Digest): all} {
		picked, err := airgap.PickImages(p, []string{pattern})
		if err != nil || len(picked.Images) != 1 || !slices.Equal(picked.Images[0].Tags, want) || picked.Totals.Images != 1 {
			t.Errorf("%s picks %+v, want %v: %v", pattern, picked, want, err)
		}
	}
	fail.Diff(t, all, p.Images[0].Tags)
}
