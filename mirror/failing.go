package mirror

import (
	"errors"
	"fmt"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// inARow is how many different blobs, or manifests, a registry fails to take, one
// after the other and none accepted between them, before the run ends.
const inARow = 4

// A FailingError ends a run whose destination fails at whatever it is given.
type FailingError struct {
	Content int    // how many blobs, or manifests, it failed to take
	What    string // "blobs" or "manifests"
	Err     error  // what it said of the last one
}

func (e *FailingError) Error() string { return e.what() + "; " + e.Hint() }

func (e *FailingError) what() string {
	return fmt.Sprintf("the destination fails at everything it is given, the last %d %s: %v", e.Content, e.What, e.Err)
}

// Hint says what to do.
func (e *FailingError) Hint() string {
	return "look into its log and whether its storage is full, then run the same command again: what has arrived is not sent again"
}

// Unwrap returns what the destination said last.
func (e *FailingError) Unwrap() error { return e.Err }

// failures are the blobs, or the manifests, that the destination failed at since it
// took one.
type failures struct {
	mu           sync.Mutex
	content      map[digest.Digest]struct{}
	repositories map[string]struct{}
}

// tookBlob and tookManifest note what became of content that the sink was given.
// They return an error where the sink takes none of the kind any more: one bad blob
// or one bad repository is not the end of the others.
func (r *run) tookBlob(repository string, d digest.Digest, err error) error {
	return r.took(&r.failedBlobs, "blobs", repository, d, err)
}

func (r *run) tookManifest(repository string, d digest.Digest, err error) error {
	return r.took(&r.failedManifests, "manifests", repository, d, err)
}

func (r *run) took(f *failures, what, repository string, d digest.Digest, err error) error {
	var s *sourceError
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.content, f.repositories = nil, nil
		return nil
	case errors.As(err, &s) || !errors.Is(err, remote.ErrFailing) && !errors.Is(err, remote.ErrBroken):
		return nil
	case f.content == nil:
		f.content, f.repositories = map[digest.Digest]struct{}{}, map[string]struct{}{}
	}
	f.content[d] = struct{}{}
	f.repositories[repository] = struct{}{}
	first, last := r.images[0].repository, r.images[len(r.images)-1].repository // they are sorted
	if len(f.content) < inARow || len(f.repositories) < 2 && first != last {
		return nil
	}
	return &FailingError{Content: len(f.content), What: what, Err: err}
}
