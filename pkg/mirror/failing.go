package mirror

import (
	"errors"
	"fmt"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// maxConsecutive is how many different blobs, or manifests, may fail at a registry one after the
// other, with none accepted between them, before the run ends.
const maxConsecutive = 4

// A FailingError ends a run whose destination fails for all content.
type FailingError struct {
	Content int    // the number of blobs or manifests that failed in a row
	What    string // "blobs" or "manifests"
	Err     error  // the error for the last one
}

func (e *FailingError) Error() string {
	return fmt.Sprintf("the destination failed for the last %d %s: %v", e.Content, e.What, e.Err)
}

// Advice returns the kind and what to do.
func (e *FailingError) Advice() (advice.Kind, string) {
	return advice.Failure, "check its log and whether its storage is full, then run the same command again: completed content is not sent again"
}

// Unwrap returns the last error of the destination.
func (e *FailingError) Unwrap() error { return e.Err }

// failures are the blobs, or the manifests, that failed at the destination since it last accepted
// one.
type failures struct {
	mu           sync.Mutex
	content      map[digest.Digest]struct{}
	repositories map[string]struct{}
}

// recordBlob and recordManifest record the result of a push. They return an error if the destination
// accepts no more content of this kind. A single bad blob or repository does not end the run.
func (r *run) recordBlob(repository string, d digest.Digest, err error) error {
	return r.record(&r.failedBlobs, "blobs", repository, d, err)
}

func (r *run) recordManifest(repository string, d digest.Digest, err error) error {
	return r.record(&r.failedManifests, "manifests", repository, d, err)
}

func (r *run) record(f *failures, what, repository string, d digest.Digest, err error) error {
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
	first, last := r.images[0].repository, r.images[len(r.images)-1].repository // sorted by repository
	if len(f.content) < maxConsecutive || len(f.repositories) < 2 && first != last {
		return nil
	}
	return &FailingError{Content: len(f.content), What: what, Err: err}
}
