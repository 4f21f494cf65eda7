package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// writeBuffer is how many bytes are written at once. Each blob in progress has one buffer.
const writeBuffer = 256 << 10

// PutBlob writes a blob to its location, from what open opens. It compares the bytes with desc
// while they pass; wrong bytes do not count as written. repository is ignored. Content that is
// already present, in an earlier archive of the folder or at the site, is not opened, and neither is a
// blob that is carried as a delta. A full disk is a *space.Error. Content becomes durable with Finish.
func (w *Writer) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open func(ctx context.Context, offset int64) (io.ReadCloser, error)) error {
	s, delta := w.slotFor(desc)
	if s == nil && w.opts.omits(desc.Digest) {
		return nil
	}
	if delta != nil {
		open = func(ctx context.Context, _ int64) (io.ReadCloser, error) { return delta.Open(ctx) }
	}
	if s == nil {
		return fmt.Errorf("writing %s of %d bytes to the archive in %s: it is not part of this archive", desc.Digest, desc.Size, w.dir)
	}
	mine, err := w.claim(ctx, s)
	if err != nil || !mine {
		return err
	}
	done, err := w.reuse(ctx, s)
	if err == nil && !done {
		err = w.fetch(ctx, s, open)
	}
	w.release(s, err == nil)
	return err
}

// PutManifest is PutBlob for a manifest with the bytes raw. tags are ignored: names are in the
// index.
func (w *Writer) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	return w.PutBlob(ctx, repository, desc, func(context.Context, int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(raw)), nil
	})
}

// claim waits until no other goroutine writes the slot. It returns false if the slot is done by
// then.
func (w *Writer) claim(ctx context.Context, s *slot) (bool, error) {
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		w.mu.Lock()
		busy := s.busy
		if s.done || busy == nil {
			if !s.done {
				s.busy = make(chan struct{})
			}
			w.mu.Unlock()
			return !s.done, nil
		}
		w.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

// release lets other goroutines continue with the slot.
func (w *Writer) release(s *slot, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(s.busy)
	s.busy = nil
	if s.done = done; done {
		w.remaining -= s.entry.length()
	}
}

// fetch writes the content of a slot with headers and padding, in one pass.
func (w *Writer) fetch(ctx context.Context, s *slot, open func(ctx context.Context, offset int64) (io.ReadCloser, error)) error {
	body, err := open(ctx, 0)
	if err != nil {
		return err
	}
	defer body.Close()
	e := s.entry
	body, err = layout.Verified(ctx, body, ocispec.Descriptor{Digest: e.Digest, Size: e.length()}, "what was read")
	if err != nil {
		return err
	}
	return w.store(ctx, s, body)
}

// journalDigits is how many hex digits of a digest the journal has: enough to find it.
const journalDigits = 12
