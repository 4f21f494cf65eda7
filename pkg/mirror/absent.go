package mirror

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// fewRepositories is how many repositories that no earlier run wrote to are not worth a list of
	// all repositories of the registry.
	fewRepositories = 2 * sampleEvery
	// maxListed is from how many repositories on the list is not used, and listTimeout how long it
	// may take: some registries search all of their storage for it.
	maxListed   = 1000
	listTimeout = 5 * time.Second
)

// A repositoryLister is a Registry that lists its repositories.
type repositoryLister interface {
	// Existing returns which repositories of the plan are in the registry's list of limit or fewer
	// repositories. It is an error if the registry does not return a complete list at once.
	Existing(ctx context.Context, limit int) (map[string]bool, error)
}

// findAbsent finds the repositories that do not exist with one list of all repositories, so that
// their tags are not listed one by one. It is called after the first one turned out to be empty, and
// before others are compared.
//
// Registries may omit repositories that these credentials cannot read. So the tags of one in
// sampleEvery of the missing repositories are listed nevertheless. If one has any, the list is not
// used.
func (r *run) findAbsent(ctx context.Context, first string) {
	l, ok := r.registry.(repositoryLister)
	if !ok {
		return
	}
	var unknown []string
	for _, img := range r.images {
		if n := len(unknown); (n == 0 || unknown[n-1] != img.repository) && !r.KnownTags.known(img.repository) {
			unknown = append(unknown, img.repository)
		}
	}
	if len(unknown) < fewRepositories {
		return
	}
	r.count.queries.Add(1)
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	existing, err := l.Existing(limited, maxListed)
	if err != nil {
		r.Log.Debug("the registry does not list its repositories; listing the tags of each", "error", err)
		return
	}
	absent := make(map[string]bool, len(unknown))
	for _, repository := range unknown {
		if !existing[repository] {
			absent[repository] = true
		}
	}
	delete(absent, first)
	if r.listProves(ctx, unknown, absent) {
		r.forecast.learnAbsent(absent)
	}
}

// listProves reports whether a sample of the repositories that are absent from a list is empty.
func (r *run) listProves(ctx context.Context, unknown []string, absent map[string]bool) bool {
	var used atomic.Bool
	var g errgroup.Group
	g.SetLimit(2 * r.Streams)
	n := 0
	for _, repository := range unknown {
		if !absent[repository] {
			continue
		}
		if n++; n%sampleEvery != 0 {
			continue
		}
		g.Go(func() error {
			if empty, err := r.hasNoTags(ctx, repository); err != nil || !empty {
				r.Log.Debug("the registry's list of repositories is incomplete; listing the tags of each", "repository", repository, "error", err)
				used.Store(true)
			}
			return nil
		})
	}
	_ = g.Wait() // no call returns an error
	return !used.Load()
}
