package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// The partial folder is in the archive's folder until Finish:
//
//	lock                    the run that writes
//	journal                 digests of the content that is written
//	gantry-000001.json      the set manifest, which identifies the work
//	gantry-000001.0001.tar  volumes as far as they are written
//	before/                 the same of an interrupted run with another plan,
//	                        until what both have in common was copied
const (
	partialName = ".gantry-partial"
	lockName    = "lock"
	journalName = "journal"
)

// chooseSet chooses the sequence of the new set. Work of an interrupted run with the same content
// is kept, other work is set aside.
func (w *Writer) chooseSet(c Content) (resumed bool, err error) {
	l, err := list(w.root)
	if err != nil {
		return false, err
	}
	newest, parent := w.newest(l)
	// The name of an encrypted set is not known.
	if newest != nil && newest.Encryption == nil && newest.Name != c.Name && !w.opts.Replace {
		return false, fmt.Errorf("the folder has archives of %q, and this one would be of %q: use another folder", newest.Name, c.Name)
	}
	w.warnMixedEncryption(newest)
	if r := w.opts.Repair; r != nil {
		if id := (setID{r.Sequence, true}); slices.Contains(l.repairs, r.Sequence) {
			return false, fmt.Errorf("%s already repairs that set, with other content: use another folder, or remove the files gantry-%s.*", id.manifest(), id)
		}
		parent = ""
	}
	if old := w.unfinished(l); old != nil {
		if w.opts.couldBe(old.set.id()) {
			var same bool
			if w.packing, same, err = w.opts.packLike(c, old.set, old.digest); err != nil {
				return false, err
			}
			if same {
				return true, w.takeBackVolumes(l)
			}
		}
		w.opts.Log.Info("the unfinished archive in the folder has another plan", "dir", w.dir)
		if err := w.setAside(old, l); err != nil {
			return false, err
		}
		if old.set.Encryption != nil { // this machine cannot read it
			if err := w.dropAside(); err != nil {
				return false, err
			}
		}
	}
	if err := w.clear(lockName, asideName); err != nil {
		return false, err
	}
	w.fresh = !w.hasAside()
	sequence := max(l.highest(), w.opts.highestKnown()) + 1
	if w.opts.Repair != nil {
		sequence = w.opts.Repair.Sequence
	}
	if sequence > maxSequence {
		return false, fmt.Errorf("sequence %d is the highest possible: use an empty folder", maxSequence)
	}
	w.opts.firstVolume = 0
	if w.opts.OCMirrorNames && w.opts.Repair == nil {
		w.opts.firstVolume = max(l.highestVolume, w.highestNamed(l)) + 1
	}
	w.packing, err = w.opts.pack(c, sequence, parent, nil)
	return false, err
}

// warnMixedEncryption warns if encrypted and unencrypted archives share a folder.
func (w *Writer) warnMixedEncryption(newest *set) {
	switch {
	case newest == nil || (newest.Encryption != nil) == (w.opts.Encrypt != nil):
	case newest.Encryption != nil:
		w.opts.Log.Warn("the existing archive in the folder is encrypted, and this one is not", "dir", w.dir)
	default:
		w.opts.Log.Warn("the existing archive in the folder is not encrypted: its content may remain on the disk even after it is removed", "dir", w.dir)
	}
}

// highestKnown returns the highest sequence that the site has or that was written elsewhere, or 0.
func (o *Options) highestKnown() int {
	high := o.After
	if o.Base != nil {
		for _, b := range o.Base.Sets {
			high = max(high, b.Sequence)
		}
	}
	return high
}

// couldBe reports whether the options could lead to a set of that name.
func (o *Options) couldBe(id setID) bool {
	if o.Repair != nil {
		return id == setID{o.Repair.Sequence, true}
	}
	return !id.repair && id.sequence > o.highestKnown()
}

// newest returns the newest set that can be read and the digest of its set manifest, or nil.
func (w *Writer) newest(l *listing) (*set, digest.Digest) {
	for _, sequence := range slices.Backward(l.sets) {
		if s, d, err := readSet(w.root, sequence); err == nil {
			return s, d
		}
	}
	return nil, ""
}

// highestNamed returns the highest number of a volume with a name of oc mirror that a set in the folder
// has, also if the volume was carried away: two disks of a series have different names.
func (w *Writer) highestNamed(l *listing) int {
	high := 0
	for _, sequence := range l.sets {
		if s, _, err := readSet(w.root, sequence); err == nil && s.FirstVolume > 0 {
			high = max(high, s.FirstVolume+len(s.Volumes)-1)
		}
	}
	return high
}

// unfinished returns the set that an interrupted run was writing. It returns nil if there is none,
// or if it cannot be distinguished from a finished one.
func (w *Writer) unfinished(l *listing) *packing {
	inside, err := list(w.partial)
	if err != nil {
		return nil
	}
	var id setID
	if sequence, ok := inside.newest(); ok {
		id = setID{sequence: sequence}
		if newest, some := l.newest(); some && sequence <= newest {
			return nil
		}
	} else if n := len(inside.repairs); n > 0 {
		id = setID{inside.repairs[n-1], true}
		if slices.Contains(l.repairs, id.sequence) {
			return nil
		}
	} else {
		return nil
	}
	s, err := readUnfinished(w.partial, id)
	if err != nil || s.id() != id {
		return nil
	}
	d, err := s.identity()
	if err != nil {
		return nil
	}
	return &packing{set: s, digest: d}
}

// takeBackVolumes moves volumes back that an interrupted Finish had renamed.
func (w *Writer) takeBackVolumes(l *listing) error {
	for i := range w.set.Volumes {
		v := &w.set.Volumes[i]
		if slices.Contains(l.files[w.set.Sequence], v.Name) || w.set.FirstVolume > 0 && v.checkLabel(w.root) == nil {
			if err := w.root.Rename(v.Name, partialName+"/"+v.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear removes everything from the partial folder except what is to stay.
func (w *Writer) clear(stay ...string) error {
	names, err := fs.ReadDir(w.partial.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range names {
		if slices.Contains(stay, e.Name()) {
			continue
		}
		if err := w.partial.RemoveAll(e.Name()); err != nil {
			return fmt.Errorf("removing unfinished work: %w", err)
		}
	}
	return nil
}

// resume finds what an interrupted run had written. What the journal lists is read and compared
// before it counts.
func (w *Writer) resume(ctx context.Context) error {
	named, err := w.journalSlots()
	if err != nil {
		return err
	}
	w.opts.Log.Info("reading again what an interrupted run wrote", "dir", w.dir, "entries", len(named))
	var size, wrong atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for s := range named {
		g.Go(func() error {
			ok, err := w.verifyWritten(ctx, s)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil || !ok {
				wrong.Add(1)
				w.opts.Log.Warn("what the interrupted run wrote is damaged; fetching it again", "digest", s.entry.Digest, "error", err)
				return nil
			}
			size.Add(s.entry.length())
			w.mu.Lock()
			defer w.mu.Unlock()
			s.done = true
			w.remaining -= s.entry.length()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	w.opts.Log.Info("continuing an interrupted run", "found", int64(len(named))-wrong.Load(), "size", size.Load())
	// A last line that was cut off must not run into the next.
	_, err = w.journal.WriteString("\n")
	return w.writeError(err, journalName)
}

// journalSlots returns the content that the journal lists.
func (w *Writer) journalSlots() (map[*slot]bool, error) {
	if w.encrypter != nil {
		return w.encryptedJournalSlots()
	}
	names, err := w.readJournal(w.partial)
	named := map[*slot]bool{}
	for d := range names {
		named[w.slot(d)] = true
	}
	return named, err
}

// verifyWritten reports whether content is written correctly, with headers and padding. It also
// computes the digests of parts. Only the recipients can tell what encrypted files contain; their writer
// compared the content before it noted their digests.
func (w *Writer) verifyWritten(ctx context.Context, s *slot) (bool, error) {
	places := w.targets(s)
	var pieces []io.Reader
	sums := make([]digest.Digester, len(places))
	for i, at := range places {
		f, e := w.volumes[at.volume], at.entry.stored()
		before := tarHeader(e.path(), e.Size)
		after := make([]byte, padded(e.Size)-e.Size)
		for offset, want := range map[int64][]byte{e.Offset - int64(len(before)): before, e.Offset + e.Size: after} {
			got := make([]byte, len(want))
			if _, err := f.ReadAt(got, offset); err != nil || !bytes.Equal(got, want) {
				return false, err
			}
		}
		piece := io.Reader(io.NewSectionReader(f, e.Offset, e.Size))
		switch {
		case w.encrypter != nil:
			var err error
			if piece, err = layout.Verified(ctx, io.NopCloser(piece), e.storedDescriptor(), "what was written"); err != nil {
				return false, err
			}
		case e.Part != nil:
			sums[i] = digest.SHA256.Digester()
			piece = io.TeeReader(piece, sums[i].Hash())
		}
		pieces = append(pieces, piece)
	}
	body := io.NopCloser(io.MultiReader(pieces...))
	if w.encrypter == nil {
		var err error
		if body, err = layout.Verified(ctx, body, descriptorOf(s.entry), "what was written"); err != nil {
			return false, err
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return false, err
	}
	for i, at := range places {
		if sums[i] != nil {
			at.entry.Part.Digest = sums[i].Digest()
		}
	}
	return true, nil
}
