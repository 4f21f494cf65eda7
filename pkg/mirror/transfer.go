package mirror

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// A transfer is the copying of one blob to all repositories that need it, as the meter sees it.
type transfer struct {
	meter *Meter
	blob  *blob
	done  atomic.Int64 // bytes that were read for the current repository

	// Guarded by meter.mu.
	listed  bool    // in meter.transfers
	arrived bool    // a repository has the blob
	to      *target // where it is sent; nil if nothing is being sent
	name    string  // of the target
	pending int64   // targets that are not finished
}

// startTransfer begins a transfer, and end ends it.
func (m *Meter) startTransfer(b *blob) *transfer {
	return &transfer{meter: m, blob: b, pending: b.countTargets()}
}

// sending records that the blob's bytes will be read for h from an offset, for the first time or
// again.
func (f *transfer) sending(h *target, offset int64) {
	m := f.meter
	m.mu.Lock()
	first := f.to != h
	f.to, f.name = h, h.name()
	f.done.Store(offset)
	if !f.listed {
		f.listed = true
		m.transfers = append(m.transfers, f)
	}
	reading := f.snapshot()
	m.mu.Unlock()
	if first {
		m.notify(func(o Observer) { o.BlobStarted(reading) })
	}
}

// read records that n more bytes were read.
func (f *transfer) read(n int) { f.done.Add(int64(n)) }

func (f *transfer) snapshot() Transfer {
	return Transfer{Digest: f.blob.desc.Digest, Repository: f.name, Size: f.blob.desc.Size, Done: f.done.Load()}
}

// name returns the target's repository in the plan. At a destination without repositories, it is
// the repository of an image that waits.
func (h *target) name() string {
	if h.repository == "" && len(h.waiting) > 0 {
		return h.waiting[0].Repository
	}
	return h.repository
}

// The results of a blob in a repository.
const (
	BlobCopied  = "moved"
	BlobFound   = "found"   // it was already present
	BlobMounted = "mounted" // from another repository of the registry
	BlobFailed  = "failed"
)

// A BlobResult is the result of a blob in one repository.
type BlobResult struct {
	Digest     digest.Digest
	Repository string // as the plan has it
	Size       int64  // bytes
	Result     string // one of the constants above
	Reason     string // why it failed; otherwise ""
}

// finish records the result of the blob in h, before the images that wait for it are notified.
func (f *transfer) finish(h *target, result string, err error) {
	m, size := f.meter, f.blob.desc.Size
	l := BlobResult{Digest: f.blob.desc.Digest, Repository: h.name(), Size: size, Result: result}
	more := size * int64(max(0, len(h.waiting)-1))
	switch {
	case err != nil:
		l.Result, l.Reason, more = BlobFailed, advice.Text(err), 0
	case result == BlobFound:
		m.found.Add(size)
		more = 0
	case result == BlobMounted:
		m.mounted.Add(size)
	}
	m.shared.Add(more)
	m.mu.Lock()
	if l.Result == BlobCopied {
		m.copied.Add(size)
	}
	f.done.Store(0)
	f.to = nil
	if f.pending > 0 {
		f.pending--
		m.requestsDone.Add(1)
	}
	f.arrived = f.arrived || err == nil
	m.mu.Unlock()
	m.notify(func(o Observer) { o.BlobFinished(l) })
}

// end ends the transfer: everything possible was done, or the run ended.
func (f *transfer) end() {
	if f.to != nil {
		f.finish(f.to, BlobFailed, errEnded)
	}
	m := f.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += f.blob.desc.Size
	m.requestsDone.Add(f.pending)
	if i := slices.Index(m.transfers, f); i >= 0 {
		m.transfers = slices.Delete(m.transfers, i, i+1)
	}
}

// errEnded is the error of a blob whose transfer was in progress when the run ended.
var errEnded = errors.New("the run was ended")
