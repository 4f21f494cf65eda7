package setrecord

import (
	"context"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestReplaced checks that the manifests of runs that changed nothing are found, up to one that is gone.
func TestReplaced(t *testing.T) {
	m := newMemory()
	stored := map[digest.Digest][]byte{}
	run := func(before *Revision, plan string) *Revision {
		revision := write(t, m, "one", before, record("a"), plan)
		stored[revision.Manifest] = m.tags["one"]
		return revision
	}
	manifest := func(_ context.Context, d digest.Digest) ([]byte, error) {
		if raw := stored[d]; raw != nil {
			return raw, nil
		}
		return nil, fs.ErrNotExist
	}
	first := run(nil, "plan 1")
	second := run(first, "plan 1")
	third := run(second, "plan 1")
	fourth := run(third, "plan 2")
	fifth := run(fourth, "plan 2")
	revisions := []Revision{*first, *fifth}
	for _, c := range []struct {
		name string
		gone *Revision
		want []digest.Digest
	}{
		{"all", nil, []digest.Digest{second.Manifest, third.Manifest, fourth.Manifest}},
		{"one is gone", third, []digest.Digest{fourth.Manifest}},
	} {
		if c.gone != nil {
			delete(stored, c.gone.Manifest)
		}
		got, err := Replaced(t.Context(), revisions, manifest)
		fail.On(t, err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if c.gone == nil {
			continue
		}
		stored[c.gone.Manifest] = []byte("{")
		if got, err = Replaced(t.Context(), revisions, manifest); err != nil || len(got) != 1 {
			t.Errorf("a manifest of another program: %v, %v", got, err)
		}
	}
}
