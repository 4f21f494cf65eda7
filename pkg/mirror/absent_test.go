package mirror

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A listingRegistry lists its repositories, except for those in hidden.
type listingRegistry struct {
	*memoryRegistry
	hidden map[string]bool
	err    error
	plan   []string
}

func (r *listingRegistry) Existing(ctx context.Context, _ int) (map[string]bool, error) {
	if err := r.call(ctx, "repositories", "", ""); err != nil {
		return nil, err
	}
	existing := map[string]bool{}
	for _, repository := range r.plan {
		tags, err := r.memoryRegistry.Tags(ctx, repository, 1)
		if err != nil {
			return nil, err
		}
		r.calls["tags"]--
		existing[repository] = len(tags) > 0 && !r.hidden[repository]
	}
	return existing, r.err
}

// manyRepositories makes a plan of n repositories with two images each.
func manyRepositories(t *testing.T, n int, text string) (*maker, []string) {
	m := newMaker(t)
	var repositories []string
	for i := range n {
		name := fmt.Sprintf("org/app%02d", i)
		repositories = append(repositories, name)
		m.add(name, "v1", m.image(text+name+"v1"))
		m.add(name, "v2", m.image(text+name+"v2"))
	}
	return m, repositories
}

// TestOneListShowsWhichRepositoriesAreAbsent checks that a copy to an empty registry lists the tags of
// few repositories beforehand, and that it does not rely on a list that omits repositories.
func TestOneListShowsWhichRepositoriesAreAbsent(t *testing.T) {
	const n = 24
	for name, tc := range map[string]struct {
		repositories int
		filled       []string // with the images of the plan
		hidden       []string // that the list omits
		err          error
		want         map[string]int
	}{
		// The tags of the first repository, of one in eight, and of all after they were pushed.
		"nothing there": {repositories: n, want: map[string]int{"repositories": 1, "tags": 1 + 2 + n}},
		"no list":       {repositories: n, err: errors.New("denied"), want: map[string]int{"repositories": 1, "tags": 2 * n}},
		"too few":       {repositories: 15, want: map[string]int{"tags": 2 * 15}},
		// Its tags show that it is not empty, then both images are requested.
		"one is listed": {repositories: n, filled: []string{"org/app05"}, want: map[string]int{"repositories": 1, "tags": 1 + 2 + 1 + n - 1, "has manifest": 2}},
		// One of the sample has tags: the others are listed.
		"the list omits one of the sample": {
			repositories: n, filled: []string{"org/app08"}, hidden: []string{"org/app08"},
			want: map[string]int{"repositories": 1, "tags": 1 + 2 + n - 1 + n - 1, "has manifest": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, repositories := manyRepositories(t, tc.repositories, "")
			registry := &listingRegistry{memoryRegistry: newMemoryRegistry(), hidden: map[string]bool{}, err: tc.err, plan: repositories}
			for _, repository := range tc.filled {
				for _, img := range m.p.Images {
					if img.Repository == repository {
						registry.tags[repository+":"+img.Tags[0]] = img.Digest
						registry.manifests[key(repository, img.Digest)] = m.content[img.Digest]
					}
				}
			}
			for _, repository := range tc.hidden {
				registry.hidden[repository] = true
			}
			rep := mustRun(t, m.plan(), m.source(), registry, Options{Streams: 1})
			if want := 2 * (tc.repositories - len(tc.filled)); !rep.Complete() || rep.Copied != want {
				t.Errorf("%d copied, want %d: %+v", rep.Copied, want, rep)
			}
			got := map[string]int{}
			for _, call := range []string{"repositories", "tags", "has manifest"} {
				if n := registry.calls[call]; n > 0 {
					got[call] = n
				}
			}
			fail.Diff(t, tc.want, got)
		})
	}
}

// TestOldTagsOfAnOmittedRepositoryProveNothing checks that a lost image is noticed if the list of
// repositories omits the one that has an older image under its tag.
func TestOldTagsOfAnOmittedRepositoryProveNothing(t *testing.T) {
	m, repositories := manyRepositories(t, 24, "")
	const at = "org/app05" // not in the sample
	registry := &listingRegistry{memoryRegistry: newMemoryRegistry(), hidden: map[string]bool{at: true}, plan: repositories}
	for _, tag := range []string{"v0", "v1", "v2"} {
		registry.tags[at+":"+tag] = digest.FromString("old")
	}
	registry.lose = func(repository string, _ digest.Digest) bool { return repository == at }
	rep := mustRun(t, m.plan(), m.source(), registry, Options{})
	if len(rep.Failed) != 2 || !errors.Is(rep.Failed[0].Err, errNotStored) || rep.Failed[0].Repository != at || rep.Copied != 46 {
		t.Errorf("%+v", rep)
	}
}
