package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// createInner writes the inner set manifest to the partial folder, unless an interrupted run did.
func (w *Writer) createInner(disk durable.Folder) error {
	e := w.outer.Encryption
	if e.Manifest != "" && w.outer.checkInnerFile(disk.Root) == nil {
		return nil
	}
	h := digest.SHA256.Digester()
	err := disk.Write(w.set.id().inner(), func(to io.Writer) error {
		return w.writeInner(io.MultiWriter(to, h.Hash()))
	})
	if err != nil {
		return err
	}
	e.Manifest = h.Digest()
	w.digest, _, err = WriteFunc(w.outer.write).measure()
	return err
}

// addEncryptedToJournal writes to the journal which files contain the content, with their digests,
// which reveal nothing about it.
func (w *Writer) addEncryptedToJournal(s *slot) error {
	var lines strings.Builder
	for _, at := range w.targets(s) {
		fmt.Fprintf(&lines, "%s %s\n", at.entry.Encrypted.Path, at.entry.Encrypted.Digest.Encoded())
	}
	_, err := w.journal.WriteString(lines.String())
	return w.writeError(err, journalName)
}

// encryptedJournalSlots returns the content whose files are all in the journal. It also reads
// their digests from the journal.
func (w *Writer) encryptedJournalSlots() (map[*slot]bool, error) {
	f, _, err := regular.Open(w.partial, journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	digests := map[string]digest.Digest{}
	lines := bufio.NewScanner(io.LimitReader(f, maxSet))
	for lines.Scan() {
		path, sum, _ := strings.Cut(lines.Text(), " ")
		if d := digest.NewDigestFromEncoded(digest.SHA256, sum); d.Validate() == nil {
			digests[path] = d
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("reading the journal of the interrupted run: %w", err)
	}
	named := map[*slot]bool{}
	for i := range w.slots {
		s, all := &w.slots[i], true
		for _, at := range w.targets(s) {
			at.entry.Encrypted.Digest = digests[at.entry.Encrypted.Path]
			all = all && at.entry.Encrypted.Digest != ""
		}
		if all {
			named[s] = true
		}
	}
	return named, nil
}

// verifyEncrypted reports whether the files with content are as they were written. Only the
// recipients can tell what they contain; their writer compared the content before it noted their
// digests.
func (w *Writer) verifyEncrypted(ctx context.Context, s *slot) (bool, error) {
	buf := w.buffers.Get().(*[writeBuffer]byte)
	defer w.buffers.Put(buf)
	for _, at := range w.targets(s) {
		f, e := w.volumes[at.volume], at.entry.Encrypted
		before := tarHeader(e.path(), e.Size)
		head := make([]byte, len(before))
		if _, err := f.ReadAt(head, e.Offset-int64(len(before))); err != nil || !bytes.Equal(head, before) {
			return false, err
		}
		h := digest.SHA256.Digester()
		for n := int64(0); n < e.Size; {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			m, err := f.ReadAt(buf[:min(writeBuffer, e.Size-n)], e.Offset+n)
			if err != nil {
				return false, err
			}
			h.Hash().Write(buf[:m]) // never returns an error
			n += int64(m)
		}
		after := buf[:padded(e.Size)-e.Size]
		if _, err := f.ReadAt(after, e.Offset+e.Size); err != nil || !bytes.Equal(after, make([]byte, len(after))) {
			return false, err
		}
		if h.Digest() != e.Digest {
			return false, nil
		}
	}
	return true, nil
}
