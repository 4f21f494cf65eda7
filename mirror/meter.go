package mirror

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/plan"
)

// A Meter tells how far a run is. Its methods may be called while the run goes
// on; what they return may be a moment old. The zero value is ready, for one
// run.
type Meter struct {
	// Observer, where set before the run, is told what happens.
	Observer Observer

	images, looked                 atomic.Int64
	settled, failed, held, present atomic.Int64 // images
	total, moved                   atomic.Int64
	found, mounted, shared         atomic.Int64
	observing                      sync.Mutex // held while Observer is told, so that its lines keep their order
	mu                             sync.Mutex
	done                           int64     // of total, without what flies
	flights                        []*flight // in the order in which they began
}

// An Observer is told what happens in a run when it happens, one thing at a
// time. The run waits for it.
type Observer interface {
	// BlobStarted: the bytes of a blob begin to move. BlobEnded follows.
	BlobStarted(Flight)
	// BlobEnded: a blob is in a repository that needs it, or will not come.
	// What is found or mounted there did not start.
	BlobEnded(Landing)
	// ImageSettled: an image is at the destination whole, or will not come.
	ImageSettled(Outcome)
}

// Progress is one reading of a Meter.
type Progress struct {
	// Images is how many the plan has, those that are missing at its sources
	// among them; Looked is for how many the destination was asked.
	Images, Looked int64
	// Settled is for how many nothing is left to do, Failed how many of these could
	// not be had or brought, Held how many catalogs and releases were held back
	// since they name such, and Present how many were there before.
	Settled, Failed, Held, Present int64
	// Total is the bytes of what may be lacking, each blob once, and Done for how
	// many of them nothing is left to do: the run ends at Total. Total is known,
	// and not 0, when the destination was asked for all images.
	Total, Done int64
	// Moved is the bytes that were brought over; one that a registry would not
	// mount counts once for each repository. Found were in a repository that
	// needs them already. Mounted are those that a registry took from another of
	// its repositories instead. Shared are those of several images in one place
	// that were brought there once, and not again for each image.
	Moved, Found, Mounted, Shared int64
}

// Progress reads the meter.
func (m *Meter) Progress() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := Progress{
		Images: m.images.Load(), Looked: m.looked.Load(),
		Settled: m.settled.Load(), Failed: m.failed.Load(), Held: m.held.Load(), Present: m.present.Load(),
		Total: m.total.Load(), Done: m.done,
		Moved: m.moved.Load(), Found: m.found.Load(), Mounted: m.mounted.Load(), Shared: m.shared.Load(),
	}
	for _, f := range m.flights {
		size, done := f.blob.desc.Size, f.done.Load()
		p.Moved += done
		if f.there {
			done = size
		}
		p.Done += min(size, done)
	}
	return p
}

// A Flight is a blob whose bytes are on their way.
type Flight struct {
	Digest digest.Digest
	// Repository is where it is brought, as the plan has it.
	Repository string
	Size, Done int64 // bytes
}

// Flights tells what is on its way, the longest first.
func (m *Meter) Flights() []Flight {
	m.mu.Lock()
	defer m.mu.Unlock()
	var flights []Flight
	for _, f := range m.flights {
		if f.to != nil {
			flights = append(flights, f.reading())
		}
	}
	return flights
}

// begin tells what is to be done: p.
func (m *Meter) begin(p *plan.Plan) {
	m.images.Store(int64(len(p.Images) + len(p.Missing)))
	for _, miss := range p.Missing {
		m.looked.Add(1)
		m.failed.Add(1)
		m.settled.Add(1)
		m.tell(func(o Observer) {
			o.ImageSettled(Outcome{Source: miss.Source, Result: ImageFailed, Reason: miss.Reason})
		})
	}
}

// look tells that the destination was asked for n images.
func (m *Meter) look(n int) { m.looked.Add(int64(n)) }

// plan tells what is lacking.
func (m *Meter) plan(images []*image, needed []*blob) {
	var total int64
	for _, b := range needed {
		total += b.desc.Size
	}
	for _, img := range images {
		total += img.manifestBytes()
	}
	m.total.Store(total)
}

// manifestBytes is how many bytes of manifests an image may need.
func (img *image) manifestBytes() int64 {
	var n int64
	if !img.present {
		for _, m := range img.manifests {
			n += m.Size
		}
	}
	return n
}

// pushed tells that a manifest was brought over.
func (m *Meter) pushed(size int64) { m.moved.Add(size) }

// What became of an image.
const (
	ImageCopied  = "copied"
	ImagePresent = "present" // it was there before
	ImageFailed  = "failed"
	ImageHeld    = "held" // a catalog that names images that are not there
)

// An Outcome is what became of an image.
type Outcome struct {
	Source string
	// Repository, Tags and Digest are those of the plan; "" and nil where the
	// source did not give the image to the plan.
	Repository string
	Tags       []string
	Digest     digest.Digest
	Result     string // one of the constants above
	Reason     string // why it is not there; else ""
}

// settle tells what became of an image.
func (m *Meter) settle(img *image, err error) {
	o := Outcome{Source: img.Source, Repository: img.Repository, Tags: slices.Clone(img.Tags), Digest: img.Digest, Result: ImageCopied}
	switch {
	case img.present:
		o.Result = ImagePresent
		m.present.Add(1)
	case errors.Is(err, errHeld):
		o.Result = ImageHeld
	case err != nil:
		o.Result = ImageFailed
	}
	if err != nil {
		o.Reason = err.Error()
		if o.Result == ImageHeld {
			m.held.Add(1)
		} else {
			m.failed.Add(1)
		}
	}
	m.mu.Lock()
	m.done += img.manifestBytes()
	m.settled.Add(1)
	m.mu.Unlock()
	m.tell(func(to Observer) { to.ImageSettled(o) })
}

// tell calls the observer, where there is one.
func (m *Meter) tell(f func(Observer)) {
	if m.Observer != nil {
		m.observing.Lock()
		defer m.observing.Unlock()
		f(m.Observer)
	}
}
