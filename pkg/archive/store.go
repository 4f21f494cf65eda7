package archive

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
)

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

// addToJournal notes that the content is written. The journal is a hint: the next run compares what
// it lists with its digest before relying on it, so that neither needs a sync here.
func (w *Writer) addToJournal(d digest.Digest) error {
	_, err := w.journal.WriteString(d.Encoded()[:journalDigits] + "\n")
	return w.writeError(err, journalName)
}
