package archive

import (
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
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
	digests := map[string]digest.Digest{}
	err := eachLine(w.partial, func(line string) {
		path, sum, _ := strings.Cut(line, " ")
		if d := digest.NewDigestFromEncoded(digest.SHA256, sum); d.Validate() == nil {
			digests[path] = d
		}
	})
	if err != nil {
		return nil, err
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
