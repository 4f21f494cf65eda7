package mirror

import (
	"errors"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// denials are the repositories to which these credentials, although the registry accepts them, must
// not upload. They are not tried again for each blob.
type denials struct {
	mu   sync.Mutex
	errs map[string]error // by repository
}

// denied returns the error of a repository to which nothing can be uploaded, or nil.
func (d *denials) denied(repository string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.errs[repository]
}

// deny records err of a repository if it is a refusal.
func (d *denials) deny(repository string, err error) {
	if !denies(err) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.errs == nil {
		d.errs = map[string]error{}
	}
	d.errs[repository] = err
}

// denies reports whether err is a refusal by the destination, not by the source.
func denies(err error) bool {
	var s *sourceError
	return errors.Is(err, remote.ErrDenied) && !errors.As(err, &s)
}

// finalError returns the error of a run that came to its end: its first failure with
// Options.StopOnError, or the refusal if every image to be copied was refused.
func (r *run) finalError() error {
	if r.firstFailure != nil {
		return r.firstFailure
	}
	var first error
	for _, img := range r.images {
		switch {
		case img.present, errors.Is(img.err, errWithheld):
		case !denies(img.err):
			return nil
		case first == nil:
			first = img.err
		}
	}
	return first
}
