package mirror

import (
	"errors"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// denials are the repositories into which the registry lets nobody upload with
// these credentials, which it accepts. It is not asked for each blob.
type denials struct {
	mu   sync.Mutex
	errs map[string]error // by repository
}

// denied is why nothing can be brought to a repository; nil where nothing is
// known of that.
func (d *denials) denied(repository string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.errs[repository]
}

// deny notes the refusal of a repository, where err, returned by the sink, is
// one.
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

// denies reports whether err is a registry's refusal at the destination, not at
// the source.
func denies(err error) bool {
	var s *sourceError
	return errors.Is(err, remote.ErrDenied) && !errors.As(err, &s)
}

// shortfall is why a run that came to its end is an error: it was to stop with an
// image that failed, or one refusal met every image that was to be brought.
func (r *run) shortfall() error {
	if r.first != nil {
		return r.first
	}
	var first error
	for _, img := range r.images {
		switch {
		case img.present, errors.Is(img.err, errHeld):
		case !denies(img.err):
			return nil
		case first == nil:
			first = img.err
		}
	}
	return first
}
