package mirror

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
)

// A flight is the way of one blob to all repositories that need it, as the
// meter sees it.
type flight struct {
	meter *Meter
	blob  *blob
	done  atomic.Int64 // bytes that were read for the repository that is sent to

	// Below meter.mu.
	listed bool   // among meter.flights
	there  bool   // a repository has it
	to     *home  // where it is sent; nil while nothing is
	name   string // of to
}

// fly begins a blob's way. end ends it.
func (m *Meter) fly(b *blob) *flight { return &flight{meter: m, blob: b} }

// send tells that the blob's bytes are going to be read for h, from an offset:
// for the first time, or again.
func (f *flight) send(h *home, offset int64) {
	m := f.meter
	m.mu.Lock()
	first := f.to != h
	f.to, f.name = h, h.name()
	f.done.Store(offset)
	if !f.listed {
		f.listed = true
		m.flights = append(m.flights, f)
	}
	reading := f.reading()
	m.mu.Unlock()
	if first {
		m.tell(func(o Observer) { o.BlobStarted(reading) })
	}
}

// read tells that n more bytes were read.
func (f *flight) read(n int) { f.done.Add(int64(n)) }

func (f *flight) reading() Flight {
	return Flight{Digest: f.blob.desc.Digest, Repository: f.name, Size: f.blob.desc.Size, Done: f.done.Load()}
}

// name is the home's repository in the plan, also where the sink knows no
// repositories: then it is that of an image that waits.
func (h *home) name() string {
	if h.repository == "" && len(h.waiting) > 0 {
		return h.waiting[0].Repository
	}
	return h.repository
}

// How a blob came to be in a repository.
const (
	BlobMoved   = "moved"
	BlobFound   = "found"   // it was there before
	BlobMounted = "mounted" // another repository there had it
	BlobFailed  = "failed"
)

// A Landing is what became of a blob in one repository.
type Landing struct {
	Digest     digest.Digest
	Repository string // as the plan has it
	Size       int64  // bytes
	Result     string // one of the constants above
	Reason     string // why it is not there; else ""
}

// land tells what became of the blob in h, before the images that wait for it
// are told.
func (f *flight) land(h *home, result string, err error) {
	m, size := f.meter, f.blob.desc.Size
	l := Landing{Digest: f.blob.desc.Digest, Repository: h.name(), Size: size, Result: result}
	more := size * int64(max(0, len(h.waiting)-1))
	switch {
	case err != nil:
		l.Result, l.Reason, more = BlobFailed, err.Error(), 0
	case result == BlobFound:
		m.found.Add(size)
		more = 0
	case result == BlobMounted:
		m.mounted.Add(size)
	}
	m.shared.Add(more)
	m.mu.Lock()
	if l.Result == BlobMoved {
		m.moved.Add(size)
	}
	f.done.Store(0)
	f.to = nil
	f.there = f.there || err == nil
	m.mu.Unlock()
	m.tell(func(o Observer) { o.BlobEnded(l) })
}

// end tells that nothing more can be done for the blob, or that the run ended.
func (f *flight) end() {
	if f.to != nil {
		f.land(f.to, BlobFailed, errEnded)
	}
	m := f.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += f.blob.desc.Size
	if i := slices.Index(m.flights, f); i >= 0 {
		m.flights = slices.Delete(m.flights, i, i+1)
	}
}

// errEnded is why a blob did not come that was on its way.
var errEnded = errors.New("the run was ended")
