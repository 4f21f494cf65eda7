package mirror

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A blobCopy is a blob while it is copied to the repositories that need it.
type blobCopy struct {
	*blob
	// known are repositories that have the blob.
	known []string
	// mountRepository is a repository that has the blob, which the source omits; "" if there is
	// none.
	mountRepository string
	transfer        *transfer
	// again means that other bytes were read than those of the digest, and that the blob is read once more.
	again bool
}

// altered reports whether the bytes of an upload changed on the way, as far as Gantry or the registry can tell.
func altered(err error) bool {
	e, ok := errors.AsType[*remote.Error](err)
	return errors.Is(err, remote.ErrMismatch) || ok && e.Code == "DIGEST_INVALID"
}

// pushBlob copies a blob to every repository that needs it: it looks for it where it may be, sends
// it at most once, and mounts it in the other repositories. An error that it returns ends the run;
// other errors are recorded for the images that wait.
func (r *run) pushBlob(ctx context.Context, unique *blob) error {
	unique.attempted = true
	f := r.Meter.startTransfer(unique)
	defer f.end()
	b := &blobCopy{blob: unique, known: unique.known(), transfer: f}
	if err := r.findMountSource(ctx, b); err != nil {
		return err
	}
	var absent []*target
	for _, h := range b.targets() {
		if err := r.denied(h.repository); err != nil {
			f.finish(h, BlobFailed, err)
			r.notify(h, err)
			continue
		}
		found, err := r.findBlob(ctx, b, h)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.fatal(err):
			return err
		case err != nil:
			r.deny(h.repository, err)
			err = explain(err, "checking blob "+b.desc.Digest.String())
			f.finish(h, BlobFailed, err)
			r.notify(h, err)
		case found:
			r.count.found.Add(1)
			b.known = append(b.known, h.repository)
			f.finish(h, BlobFound, nil)
			r.notify(h, nil)
		default:
			absent = append(absent, h)
		}
	}
	for _, h := range absent {
		if r.stopped() {
			return nil
		}
		result, err := r.sendBlob(ctx, b, h)
		if altered(err) && ctx.Err() == nil && !b.again && !slices.ContainsFunc(b.sources(), plan.IsFileSource) {
			r.Log.Warn("what was read of a blob is wrong; it is read once more", "digest", b.desc.Digest, "error", err)
			b.again = true
			result, err = r.sendBlob(ctx, b, h)
		}
		if err == nil {
			b.known = append(b.known, h.repository)
			r.addToJournal(b, h)
			r.forgetDownload(b.blob)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.fatalWrite(err) {
			return err
		}
		if end := r.recordBlob(h.repository, b.desc.Digest, err); end != nil {
			return end
		}
		r.deny(h.repository, err)
		f.finish(h, result, err)
		r.notify(h, err)
		if _, ok := errors.AsType[*sourceError](err); ok && len(b.known) == 0 {
			// No repository has it and no source: it fails for the other repositories, too.
			for _, rest := range absent {
				if rest != h && len(rest.waiting) > 0 {
					f.finish(rest, BlobFailed, err)
					r.notify(rest, err)
				}
			}
			return nil
		}
	}
	return nil
}

// findBlob looks for the blob where it may be: in a repository that is not new, or in a Store.
func (r *run) findBlob(ctx context.Context, b *blobCopy, h *target) (bool, error) {
	if r.registry == nil {
		return r.store != nil && r.store.Has(b.descriptor()), nil
	}
	if h.repository == b.mountRepository {
		return true, nil
	}
	if c, ok := r.blobChecks.Load(pushKey{repository: h.repository, digest: b.desc.Digest.String()}); ok {
		if c := c.(*blobCheck); c.done { // no check follows
			return c.problem == "", nil
		}
	}
	_, used := r.nonEmpty.Load(h.repository)
	if !used && !r.Repair && (r.Journal == nil || !r.Journal.Has(h.repository, b.desc.Digest)) {
		return false, nil
	}
	problem, err := r.blobProblem(ctx, h.repository, b.blob)
	if problem != "" && problem != blobMissing {
		r.Log.Warn("the registry has a damaged blob; it is copied again", "repository", h.repository, "digest", b.desc.Digest, "problem", problem)
		r.damaged.Store(b.desc.Digest, struct{}{})
	}
	return err == nil && problem == "", err
}

// sendBlob copies the blob to h and returns how: BlobCopied, BlobMounted, or BlobFound if the
// destination had the bytes without reading them, as an archive has those of the previous one.
func (r *run) sendBlob(ctx context.Context, b *blobCopy, h *target) (string, error) {
	var opened atomic.Bool
	body := r.opener(b, h)
	unhashed := r.unhashed(ctx, b, h, body)
	if unhashed != nil {
		body = unhashed.open
	}
	open := func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		opened.Store(true)
		return body(ctx, offset)
	}
	r.beforePush(ctx)
	if r.registry != nil && len(b.known) > 0 {
		mounted, err := r.registry.MountBlob(ctx, h.repository, b.descriptor(), b.known[0], open)
		if err != nil {
			return BlobFailed, explain(unhashed.explain(ctx, err), "writing blob "+b.desc.Digest.String())
		}
		if err := r.confirmRepair(ctx, b.blob, h.repository); err != nil {
			return BlobFailed, err
		}
		if mounted {
			r.count.mounted.Add(1)
			r.count.mountedBytes.Add(b.desc.Size)
			return BlobMounted, nil
		}
	} else if err := r.destination.PutBlob(ctx, h.repository, b.descriptor(), open); err != nil {
		return BlobFailed, explain(unhashed.explain(ctx, err), "writing blob "+b.desc.Digest.String())
	} else if err := r.confirmRepair(ctx, b.blob, h.repository); err != nil {
		return BlobFailed, err
	}
	if !opened.Load() {
		r.count.found.Add(1)
		return BlobFound, nil
	}
	r.count.copied.Add(1)
	r.count.copiedBytes.Add(b.desc.Size)
	return BlobCopied, nil
}

// addToJournal records the blob in the journal. That is only an optimization: without it, an
// interrupted run takes longer to continue.
func (r *run) addToJournal(b *blobCopy, h *target) {
	if r.Journal == nil || r.registry == nil {
		return
	}
	if err := r.Journal.Add(h.repository, b.desc.Digest); err != nil {
		r.journalWarning.Do(func() {
			r.Log.Warn("the journal cannot be written; after an interruption, more content is sent again", "error", err)
		})
	}
}

// forgetDownload tells the source that a file need not be kept for another run.
func (r *run) forgetDownload(b *blob) {
	source, ok := r.source.(interface{ Stored(d digest.Digest) })
	if ok && slices.ContainsFunc(b.sources(), plan.IsFileSource) {
		source.Stored(b.desc.Digest)
	}
}

// notify records the result of the blob for the images of a target, once.
func (r *run) notify(h *target, err error) {
	waiting := h.waiting
	h.waiting = nil
	for _, img := range waiting {
		r.dependencyDone(img, err)
	}
}
