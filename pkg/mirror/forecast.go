package mirror

import (
	"context"
	"sync"
)

// A forecast predicts whether a repository that no earlier run wrote to is empty: like most of the
// others of this run, whose first one is assumed to be empty. The prediction decides which request
// comes first, so that one suffices: the list of tags for an empty repository, an image for others.
type forecast struct {
	mu          sync.Mutex
	first       chan struct{} // closed when the first repository is known; nil before it is requested
	empty, used int
	absent      map[string]bool // repositories that the registry does not have
}

// A prediction is what is expected of a repository.
type prediction struct {
	first  bool // it is the first one
	empty  bool // it is probably empty
	absent bool // it does not exist
}

// predict returns the prediction, and done, which the caller calls when it knows the answer, or that
// there is none. It waits until the first repository is known.
func (f *forecast) predict(ctx context.Context, repository string) (p prediction, done func()) {
	f.mu.Lock()
	first := f.first
	if first == nil {
		f.first = make(chan struct{})
		first = f.first
		f.mu.Unlock()
		return prediction{first: true, empty: true}, func() { close(first) }
	}
	f.mu.Unlock()
	select {
	case <-first:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return prediction{empty: f.empty >= f.used, absent: f.absent[repository]}, func() {}
}

// learn records what a repository turned out to be.
func (f *forecast) learn(empty bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if empty {
		f.empty++
	} else {
		f.used++
	}
}

// learnAbsent records which repositories the registry does not have.
func (f *forecast) learnAbsent(repositories map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.absent = repositories
}
