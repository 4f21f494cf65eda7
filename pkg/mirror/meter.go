package mirror

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A Meter measures the progress of a run. Its methods may be called during the run; what they
// return may be slightly out of date. The zero value is ready for one run.
type Meter struct {
	// Observer, if set before the run, receives its events.
	Observer Observer

	images, compared                    atomic.Int64
	finished, failed, withheld, present atomic.Int64 // images
	total, copied                       atomic.Int64
	found, mounted, shared              atomic.Int64
	requests, requestsDone              atomic.Int64
	observing                           sync.Mutex // held during calls of Observer, so that events keep their order
	mu                                  sync.Mutex
	done                                int64       // bytes of total that are done, without transfers in progress
	transfers                           []*transfer // in the order of their start
}

// An Observer receives the events of a run when they happen, one at a time. The run waits for it.
type Observer interface {
	// BlobStarted means that the transfer of a blob begins. BlobFinished follows.
	BlobStarted(Transfer)
	// BlobFinished means that a blob is in a repository that needs it, or failed. Blobs that are
	// found or mounted there are not started.
	BlobFinished(BlobResult)
	// ImageFinished means that an image is completely at the destination, or failed.
	ImageFinished(ImageResult)
}

// Progress is one reading of a Meter.
type Progress struct {
	// Images is how many the plan has, including those that are missing at its sources. Compared is
	// how many were compared with the destination.
	Images, Compared int64
	// Finished is the number of images for which nothing is left to do. Of these, Failed could not be
	// read or pushed, Withheld are catalogs and releases that name failed images, and Present were
	// already at the destination.
	Finished, Failed, Withheld, Present int64
	// Total is the bytes of the content that may be missing, each blob once, and Done how many of
	// them are done: the run ends at Total. Total is known, and not 0, when all images were
	// compared with the destination.
	Total, Done int64
	// Copied is the bytes that were transferred; a blob that a registry would not mount counts once
	// for each repository. Found were already in a repository that needs them. Mounted are those
	// that a registry took from another of its repositories. Shared are those of several images in
	// one repository that were copied there once, not once per image.
	Copied, Found, Mounted, Shared int64
	// Requests is how many requests the copy needs at least, as far as that is known before it: one for
	// each blob and each manifest in every repository that needs it, and one to confirm each image.
	// RequestsDone is how many of them are answered or no longer needed.
	Requests, RequestsDone int64
}

// Progress returns the current progress.
func (m *Meter) Progress() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := Progress{
		Images: m.images.Load(), Compared: m.compared.Load(),
		Finished: m.finished.Load(), Failed: m.failed.Load(), Withheld: m.withheld.Load(), Present: m.present.Load(),
		Total: m.total.Load(), Done: m.done,
		Copied: m.copied.Load(), Found: m.found.Load(), Mounted: m.mounted.Load(), Shared: m.shared.Load(),
		Requests: m.requests.Load(), RequestsDone: m.requestsDone.Load(),
	}
	for _, f := range m.transfers {
		size, done := f.blob.desc.Size, f.done.Load()
		p.Copied += done
		if f.arrived {
			done = size
		}
		p.Done += min(size, done)
	}
	return p
}

// A Transfer is a blob that is being copied.
type Transfer struct {
	Digest digest.Digest
	// Repository is where it is copied to, as in the plan.
	Repository string
	Size, Done int64 // bytes
}

// Transfers returns the transfers in progress, the longest first.
func (m *Meter) Transfers() []Transfer {
	m.mu.Lock()
	defer m.mu.Unlock()
	var flights []Transfer
	for _, f := range m.transfers {
		if f.to != nil {
			flights = append(flights, f.snapshot())
		}
	}
	return flights
}

// begin records the plan.
func (m *Meter) begin(p *plan.Plan) {
	m.images.Store(int64(len(p.Images) + len(p.Missing)))
	for _, miss := range p.Missing {
		m.compared.Add(1)
		m.failed.Add(1)
		m.finished.Add(1)
		m.notify(func(o Observer) {
			o.ImageFinished(ImageResult{Source: miss.Source, Result: ImageFailed, Reason: miss.Message})
		})
	}
}

// addCompared records that n images were compared with the destination.
func (m *Meter) addCompared(n int) { m.compared.Add(int64(n)) }

// setTotal records what is missing.
func (m *Meter) setTotal(images []*image, needed []*blob) {
	var total, requests int64
	for _, b := range needed {
		total += b.desc.Size
		requests += b.countTargets()
	}
	for _, img := range images {
		total += img.manifestBytes()
		requests += img.ownRequests()
	}
	m.total.Store(total)
	m.requests.Store(requests)
}

// ownRequests returns how many requests an image needs beside those for its blobs: one for each
// manifest, and one to confirm it.
func (img *image) ownRequests() int64 {
	if img.present {
		return 0
	}
	return int64(len(img.manifests)) + 1
}

// manifestBytes returns how many bytes of manifests an image may need.
func (img *image) manifestBytes() int64 {
	var n int64
	if !img.present {
		for _, m := range img.manifests {
			n += m.Size
		}
	}
	return n
}

// addManifest records that a manifest was pushed.
func (m *Meter) addManifest(size int64) { m.copied.Add(size) }

// manifestDone records that nothing is left to do for the next manifest of an image.
func (m *Meter) manifestDone(img *image) {
	if img.manifestsDone < len(img.manifests) {
		m.mu.Lock()
		m.done += img.manifests[img.manifestsDone].Size
		m.mu.Unlock()
		img.manifestsDone++
		m.requestsDone.Add(1)
	}
}

// The results of an image.
const (
	ImageCopied   = "copied"
	ImagePresent  = "present" // it was already present
	ImageFailed   = "failed"
	ImageWithheld = "held" // a catalog or release that names missing images
)

// An ImageResult is the result of an image.
type ImageResult struct {
	Source string
	// Repository, Tags and Digest are those of the plan. They are empty if the image is missing at
	// the source.
	Repository string
	Tags       []string
	Digest     digest.Digest
	Result     string // one of the constants above
	Reason     string // why it is not there; else ""
}

// finishImage records the result of an image.
func (m *Meter) finishImage(img *image, err error) {
	o := ImageResult{Source: img.Source, Repository: img.Repository, Tags: slices.Clone(img.Tags), Digest: img.Digest, Result: ImageCopied}
	switch {
	case img.present:
		o.Result = ImagePresent
		m.present.Add(1)
	case errors.Is(err, errWithheld):
		o.Result = ImageWithheld
	case err != nil:
		o.Result = ImageFailed
	}
	if err != nil {
		o.Reason = advice.Text(err)
		if o.Result == ImageWithheld {
			m.withheld.Add(1)
		} else {
			m.failed.Add(1)
		}
	}
	if !img.present {
		for img.manifestsDone < len(img.manifests) {
			m.manifestDone(img)
		}
		m.requestsDone.Add(1)
	}
	m.finished.Add(1)
	m.notify(func(to Observer) { to.ImageFinished(o) })
}

// notify calls the observer, if any.
func (m *Meter) notify(f func(Observer)) {
	if m.Observer != nil {
		m.observing.Lock()
		defer m.observing.Unlock()
		f(m.Observer)
	}
}
