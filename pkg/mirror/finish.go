package mirror

import (
	"cmp"
	"errors"
	"slices"
)

// dependents returns the images of catalogs and releases that wait for this one, each once.
func (r *run) dependents(img *image) []*image {
	if img.present || img.publishedLast() {
		return nil
	}
	var waiting []*image
	for _, because := range img.Reasons {
		needs, ok := because.Publishable()
		if !ok {
			continue
		}
		for _, whole := range r.publishables[needs] {
			if !slices.Contains(waiting, whole) {
				waiting = append(waiting, whole)
			}
		}
	}
	return waiting
}

// dependencyDone records that one thing that an image waits for is complete, or failed with err.
func (r *run) dependencyDone(img *image, err error) {
	img.mu.Lock()
	img.waiting--
	if err != nil && img.err == nil {
		img.err = err
	}
	r.noteFailure(img, err)
	complete := img.waiting == 0
	img.mu.Unlock()
	if complete {
		r.ready <- img
	}
}

// finish records the result of an image and notifies the catalogs and releases that wait for it.
func (r *run) finish(img *image, err error) {
	img.mu.Lock()
	img.err = cmp.Or(img.err, err)
	err = img.err
	img.finished = true
	r.noteFailure(img, err)
	img.mu.Unlock()
	if err != nil && !errors.Is(err, errWithheld) {
		r.Log.Info("image not mirrored", "ref", img.Source, "error", err) // it is also in the report
	}
	for _, cat := range r.dependents(img) {
		if err != nil {
			cat.mu.Lock()
			cat.ensureWaits().missingImages = append(cat.ensureWaits().missingImages, img.Source)
			cat.mu.Unlock()
			r.dependencyDone(cat, errWithheld)
			continue
		}
		r.dependencyDone(cat, nil)
	}
	r.Meter.finishImage(img, err)
	if r.pending.Add(-1) == 0 {
		close(r.ready)
	}
}

// errWithheld is the error of a catalog or release that is not published.
var errWithheld = errors.New("withheld because images that it names are missing")
