package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// writeBuffer is how many bytes are written at once, and held for each blob on
// its way.
const writeBuffer = 256 << 10

// PutBlob writes a blob to its place, from what open opens. It is compared with
// desc while it passes; wrong bytes do not count as written. repository is
// ignored, and content that is there, in an earlier archive of the folder or at
// the site, is not opened. A full disk is a *space.Error. Content becomes durable with Finish.
func (w *Writer) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open func(ctx context.Context, offset int64) (io.ReadCloser, error)) error {
	s := w.slot(desc.Digest)
	if s == nil && w.opts.leftOut(desc.Digest) {
		return nil
	}
	if s == nil || s.entry.length() != desc.Size {
		return fmt.Errorf("writing %s of %d bytes to the archive in %s: it was not planned there", desc.Digest, desc.Size, w.dir)
	}
	mine, err := w.take(ctx, s)
	if err != nil || !mine {
		return err
	}
	done, err := w.reuse(ctx, s)
	if err == nil && !done {
		err = w.fill(ctx, s, open)
	}
	w.give(s, err == nil)
	return err
}

// PutManifest is PutBlob for a manifest, whose bytes are raw. tags are ignored:
// names stand in the index.
func (w *Writer) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	return w.PutBlob(ctx, repository, desc, func(context.Context, int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(raw)), nil
	})
}

// take waits until nobody else writes the slot. It is false where the slot is
// done by then.
func (w *Writer) take(ctx context.Context, s *slot) (bool, error) {
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

// give lets others go on with the slot.
func (w *Writer) give(s *slot, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(s.busy)
	s.busy = nil
	if s.done = done; done {
		w.left -= s.entry.length()
	}
}

// fill writes the content of a slot and what stands around it, in one pass.
func (w *Writer) fill(ctx context.Context, s *slot, open func(ctx context.Context, offset int64) (io.ReadCloser, error)) error {
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

// store writes a body that is compared with its digest while it passes, each part
// to its volume.
func (w *Writer) store(ctx context.Context, s *slot, body io.Reader) error {
	for _, at := range w.spots(s) {
		if err := w.storeAt(ctx, at, body); err != nil {
			return err
		}
	}
	if w.sealer != nil {
		return w.noteSealed(s)
	}
	return w.note(s.entry.Digest)
}

// storeAt writes the content of one place. The last part takes body to its end,
// where the whole is judged.
func (w *Writer) storeAt(ctx context.Context, at spot, body io.Reader) error {
	p := at.entry.Part
	if p == nil {
		return w.copy(ctx, int(at.volume), at.entry, body)
	}
	if p.Number < p.Parts {
		body = io.LimitReader(body, at.entry.Size)
	}
	if w.sealer != nil { // the file's digest tells as much
		return w.copy(ctx, int(at.volume), at.entry, body)
	}
	h := digest.SHA256.Digester()
	if err := w.copy(ctx, int(at.volume), at.entry, io.TeeReader(body, h.Hash())); err != nil {
		return err
	}
	p.Digest = h.Digest()
	return nil
}

// copy writes header, content and padding of an entry, encrypted where that is
// wanted.
func (w *Writer) copy(ctx context.Context, volume int, e *entry, body io.Reader) error {
	if e.Sealed == nil {
		return w.copyFile(ctx, volume, e, body)
	}
	body, err := w.sealer.seal(body, e.Size, e.Sealed.Size)
	if err != nil {
		return err
	}
	h := digest.SHA256.Digester()
	if err := w.copyFile(ctx, volume, e.Sealed, io.TeeReader(body, h.Hash())); err != nil {
		return err
	}
	e.Sealed.Digest = h.Digest()
	return nil
}

// copyFile writes header, bytes and padding of a file.
func (w *Writer) copyFile(ctx context.Context, volume int, e *entry, body io.Reader) error {
	buf := w.buffers.Get().(*[writeBuffer]byte)
	defer w.buffers.Put(buf)
	before := prelude(e.path(), e.Size)
	offset := e.Offset - int64(len(before))
	n := copy(buf[:], before)
	for end := false; !end; {
		m, err := io.ReadFull(body, buf[n:writeBuffer-blockSize])
		n += m
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			end = true
			rest := int(padded(e.Size) - e.Size)
			clear(buf[n : n+rest])
			n += rest
		default:
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := w.volumes[volume].WriteAt(buf[:n], offset); err != nil {
			return w.writeError(err, w.set.Volumes[volume].Name)
		}
		offset += int64(n)
		n = 0
	}
	return nil
}

// noted is how many hex digits of a digest the journal has: enough to find it.
const noted = 12

// note writes into the journal that the content is in its place. The journal is
// a hint: what it names is compared with its digest before the next run relies
// on it, so that neither has to be synced on the way.
func (w *Writer) note(d digest.Digest) error {
	_, err := w.journal.WriteString(d.Encoded()[:noted] + "\n")
	return w.writeError(err, journalName)
}
