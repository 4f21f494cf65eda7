package mirror

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// A delivery is a blob while it is brought to the repositories that need it.
type delivery struct {
	*blob
	// known are repositories that have the blob.
	known []string
	// elsewhere is a repository that was found to have the blob, which the source
	// leaves out; "" where there is none.
	elsewhere string
	flight    *flight
}

// place brings a blob to every repository that needs it: looked for where it
// may be, sent once at most, mounted elsewhere. The error returned ends the
// run; others go to the images that wait.
func (r *run) place(ctx context.Context, what *blob) error {
	what.placed = true
	f := r.Meter.fly(what)
	defer f.end()
	b := &delivery{blob: what, known: what.known(), flight: f}
	if err := r.findElsewhere(ctx, b); err != nil {
		return err
	}
	var absent []*home
	for _, h := range b.homes() {
		if err := r.denied(h.repository); err != nil {
			f.land(h, BlobFailed, err)
			r.spread(h, err)
			continue
		}
		found, err := r.find(ctx, b, h)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.fatal(err):
			return err
		case err != nil:
			r.deny(h.repository, err)
			err = explain(err, "looking for blob "+b.desc.Digest.String())
			f.land(h, BlobFailed, err)
			r.spread(h, err)
		case found:
			r.count.found.Add(1)
			b.known = append(b.known, h.repository)
			f.land(h, BlobFound, nil)
			r.spread(h, nil)
		default:
			absent = append(absent, h)
		}
	}
	for _, h := range absent {
		if r.halted() {
			return nil
		}
		result, err := r.send(ctx, b, h)
		if err == nil {
			b.known = append(b.known, h.repository)
			r.note(b, h)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.spoils(err) {
			return err
		}
		if end := r.tookBlob(h.repository, b.desc.Digest, err); end != nil {
			return end
		}
		r.deny(h.repository, err)
		f.land(h, result, err)
		r.spread(h, err)
		var s *sourceError
		if errors.As(err, &s) && len(b.known) == 0 {
			// No repository has it and no source gives it: the others fail alike.
			for _, rest := range absent {
				if rest != h && len(rest.waiting) > 0 {
					f.land(rest, BlobFailed, err)
					r.spread(rest, err)
				}
			}
			return nil
		}
	}
	return nil
}

// find looks for the blob where it may be: in a repository that was used
// before, or at a sink that knows by itself.
func (r *run) find(ctx context.Context, b *delivery, h *home) (bool, error) {
	if r.registry == nil {
		return r.holder != nil && r.holder.Has(b.descriptor()), nil
	}
	if h.repository == b.elsewhere {
		return true, nil
	}
	_, used := r.used.Load(h.repository)
	if !used && (r.Journal == nil || !r.Journal.Has(h.repository, b.desc.Digest)) {
		return false, nil
	}
	return r.registry.HasBlob(ctx, h.repository, b.descriptor())
}

// send brings the blob to h, and says how: BlobMoved, BlobMounted, or BlobFound
// where the sink had the bytes without being given them, as an archive has those
// of the one before.
func (r *run) send(ctx context.Context, b *delivery, h *home) (string, error) {
	var opened atomic.Bool
	body := r.open(b, h)
	open := func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		opened.Store(true)
		return body(ctx, offset)
	}
	if r.registry != nil && len(b.known) > 0 {
		mounted, err := r.registry.MountBlob(ctx, h.repository, b.descriptor(), b.known[0], open)
		if err != nil {
			return BlobFailed, explain(err, "writing blob "+b.desc.Digest.String())
		}
		if mounted {
			r.count.mounted.Add(1)
			r.count.mountedBytes.Add(b.desc.Size)
			return BlobMounted, nil
		}
	} else if err := r.sink.PutBlob(ctx, h.repository, b.descriptor(), open); err != nil {
		return BlobFailed, explain(err, "writing blob "+b.desc.Digest.String())
	}
	if !opened.Load() {
		r.count.found.Add(1)
		return BlobFound, nil
	}
	r.count.copied.Add(1)
	r.count.copiedBytes.Add(b.desc.Size)
	return BlobMoved, nil
}

// note enters the blob into the journal, which is a hint: that it cannot be
// written costs time if this run is interrupted, and nothing else.
func (r *run) note(b *delivery, h *home) {
	if r.Journal == nil || r.registry == nil {
		return
	}
	if err := r.Journal.Add(h.repository, b.desc.Digest); err != nil {
		r.unnoted.Do(func() {
			r.Log.Warn("the journal cannot be written; an interrupted run will send more again", "error", err)
		})
	}
}

// spread tells the images of a home what became of the blob, once.
func (r *run) spread(h *home, err error) {
	waiting := h.waiting
	h.waiting = nil
	for _, img := range waiting {
		r.arrived(img, err)
	}
}
