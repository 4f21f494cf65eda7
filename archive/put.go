package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
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

// store writes a body, which is compared with its digest while it passes, each part to its volume.
func (w *Writer) store(ctx context.Context, s *slot, body io.Reader) error {
	for _, at := range w.targets(s) {
		if err := w.storeTarget(ctx, at, body); err != nil {
			return err
		}
	}
	if w.encrypter != nil {
		return w.addEncryptedToJournal(s)
	}
	return w.addToJournal(s.entry.Digest)
}

// storeTarget writes the content of one target. The last part reads body to its end, where the
// digest of the whole is checked.
func (w *Writer) storeTarget(ctx context.Context, at target, body io.Reader) error {
	p := at.entry.Part
	if p == nil {
		return w.writeEntry(ctx, int(at.volume), at.entry, body)
	}
	if p.Number < p.Parts {
		body = io.LimitReader(body, at.entry.Size)
	}
	if w.encrypter != nil { // the digest of the file is sufficient
		return w.writeEntry(ctx, int(at.volume), at.entry, body)
	}
	h := digest.SHA256.Digester()
	if err := w.writeEntry(ctx, int(at.volume), at.entry, io.TeeReader(body, h.Hash())); err != nil {
		return err
	}
	p.Digest = h.Digest()
	return nil
}

// writeEntry writes header, content and padding of an entry, encrypted if the set is.
func (w *Writer) writeEntry(ctx context.Context, volume int, e *entry, body io.Reader) error {
	if e.Encrypted == nil {
		return w.writeTarFile(ctx, volume, e, body)
	}
	body, err := w.encrypter.encrypt(body, e.Size, e.Encrypted.Size)
	if err != nil {
		return err
	}
	h := digest.SHA256.Digester()
	if err := w.writeTarFile(ctx, volume, e.Encrypted, io.TeeReader(body, h.Hash())); err != nil {
		return err
	}
	e.Encrypted.Digest = h.Digest()
	return nil
}

// writeTarFile writes header, bytes and padding of a file.
func (w *Writer) writeTarFile(ctx context.Context, volume int, e *entry, body io.Reader) error {
	buf := w.buffers.Get().(*[writeBuffer]byte)
	defer w.buffers.Put(buf)
	before := tarHeader(e.path(), e.Size)
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

// journalDigits is how many hex digits of a digest the journal has: enough to find it.
const journalDigits = 12

// addToJournal notes that the content is written. The journal is a hint: the next run compares what
// it lists with its digest before relying on it, so that neither needs a sync here.
func (w *Writer) addToJournal(d digest.Digest) error {
	_, err := w.journal.WriteString(d.Encoded()[:journalDigits] + "\n")
	return w.writeError(err, journalName)
}
