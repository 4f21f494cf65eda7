package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// asideName is the folder in the partial folder for the work of an interrupted run with another
// plan: its set manifest, journal and volumes.
const asideName = "before"

// setAside moves the work of an interrupted run with other content to the folder from which the
// Writer takes what both have in common. l is the archive's folder, where that run may have renamed
// volumes to their final names.
func (w *Writer) setAside(old *packing, l *listing) error {
	if err := w.dropAside(); err != nil {
		return err
	}
	if err := w.partial.Mkdir(asideName, 0o755); err != nil {
		return err
	}
	id := old.set.id()
	given, other := l.filesOf(id)
	move := func(name string, isOurs bool) error {
		err := w.partial.Rename(name, asideName+"/"+name)
		if errors.Is(err, fs.ErrNotExist) && isOurs {
			err = w.root.Rename(name, partialName+"/"+asideName+"/"+name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for i := range old.set.Volumes {
		v := &old.set.Volumes[i]
		if err := move(v.Name, old.set.FirstVolume == 0 || v.checkLabel(w.root) == nil); err != nil {
			return err
		}
	}
	// The set manifest goes last: without it, the folder is ignored.
	for _, name := range []string{journalName, id.manifest()} {
		if err := move(name, true); err != nil {
			return err
		}
	}
	if l.files[id.sequence] = other; len(other) == 0 {
		delete(l.files, id.sequence)
	}
	return remove(w.root, given)
}

// filesOf divides the files of a sequence into those of one set and the others.
func (l *listing) filesOf(id setID) (of, other []string) {
	for _, name := range l.files[id.sequence] {
		if this, _, _ := parseName(name); this == id {
			of = append(of, name)
		} else {
			other = append(other, name)
		}
	}
	return of, other
}

// dropAside removes what was set aside, if anything.
func (w *Writer) dropAside() error {
	if err := w.partial.RemoveAll(asideName); err != nil {
		return fmt.Errorf("removing unfinished work: %w", err)
	}
	return nil
}

// hasAside reports whether something was set aside.
func (w *Writer) hasAside() bool {
	info, err := w.partial.Lstat(asideName)
	return err == nil && info.IsDir()
}

// A reusable is content in the volumes of an earlier set, whole or in parts.
type reusable struct {
	folder  *os.Root
	extents []extent
}

// An extent is an entry and the volume that contains it.
type extent struct {
	volume string
	entry  *entry
}

// findReusable finds what this set has in common with the work that was set aside, and with the
// sets in the folder, the newest first. PutBlob copies it from there.
func (w *Writer) findReusable() error {
	if w.hasAside() {
		var err error
		if w.aside, err = w.partial.OpenRoot(asideName); err != nil {
			return err
		}
		written, err := w.readJournal(w.aside)
		if err != nil {
			return err
		}
		w.findInFolder(w.aside, func(d digest.Digest) bool { return written[d] })
	}
	w.findInFolder(w.root, func(digest.Digest) bool { return true })
	return nil
}

// findInFolder finds written content of the sets in folder that this set still needs. Sets that
// cannot be read are skipped.
func (w *Writer) findInFolder(folder *os.Root, written func(digest.Digest) bool) {
	l, err := list(folder)
	if err != nil {
		return
	}
	var ids []setID
	for _, sequence := range slices.Backward(l.sets) {
		ids = append(ids, setID{sequence: sequence})
	}
	for _, sequence := range slices.Backward(l.repairs) {
		ids = append(ids, setID{sequence, true})
	}
	for _, id := range ids {
		if w.allFound() {
			return
		}
		if s, err := readUnfinished(folder, id); err == nil {
			w.findInSet(folder, s, written)
		}
	}
}

// allFound reports whether nothing is left to look for.
func (w *Writer) allFound() bool {
	return !slices.ContainsFunc(w.slots, func(s slot) bool { return !s.done && s.reusable == nil })
}

func (w *Writer) findInSet(folder *os.Root, s *set, written func(digest.Digest) bool) {
	parts := map[digest.Digest]*reusable{}
	for i, e := range s.all() {
		slot := w.slot(e.Digest)
		if e.Path != "" || slot == nil || slot.done || slot.entry.length() != e.length() || !written(e.Digest) {
			continue
		}
		this := extent{s.Volumes[i].Name, e}
		switch {
		case !e.isFirst():
			if f := parts[e.Digest]; f != nil {
				f.extents = append(f.extents, this)
			}
		case slot.reusable == nil:
			slot.reusable = &reusable{folder, []extent{this}}
			if e.Part != nil {
				parts[e.Digest] = slot.reusable
			}
		}
	}
}

// readJournal returns the content of this set that a journal in folder lists. A missing journal
// lists none.
func (w *Writer) readJournal(folder *os.Root) (map[digest.Digest]bool, error) {
	written := map[digest.Digest]bool{}
	err := eachLine(folder, func(line string) {
		w.matchLine(line, func(d digest.Digest) { written[d] = true })
	})
	return written, err
}

// eachLine calls do for each line of the journal in a folder, which need not exist.
func eachLine(folder *os.Root, do func(line string)) error {
	f, _, err := regular.Open(folder, journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	lines := bufio.NewScanner(io.LimitReader(f, maxSet))
	for lines.Scan() {
		do(lines.Text())
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("reading the journal of the interrupted run: %w", err)
	}
	return nil
}

// matchLine calls yield for the content of this set whose digest begins as in a line of the
// journal. It ignores lines that are cut off or have another form.
func (w *Writer) matchLine(line string, yield func(digest.Digest)) {
	if len(line) != journalDigits {
		return
	}
	for _, algorithm := range []string{"sha256:", "sha512:"} {
		begin := algorithm + line
		at := sort.Search(len(w.slots), func(i int) bool { return string(w.slots[i].entry.Digest) >= begin })
		for ; at < len(w.slots) && strings.HasPrefix(string(w.slots[at].entry.Digest), begin); at++ {
			yield(w.slots[at].entry.Digest)
		}
	}
}

// reuse stores content of an earlier set. It returns false if that fails and the content must be
// fetched. err is an error of the disk that is written to, or the end of ctx.
func (w *Writer) reuse(ctx context.Context, s *slot) (bool, error) {
	if s.reusable == nil {
		return false, nil
	}
	err := w.storeFrom(ctx, s, s.reusable)
	if _, ok := errors.AsType[*readError](err); ok && ctx.Err() == nil {
		w.opts.Log.Warn("content of an earlier archive is damaged; fetching it again", "digest", s.entry.Digest, "error", err)
		s.reusable = nil
		return false, nil
	}
	return err == nil, err
}

// storeFrom reads content from an earlier set and stores it. Errors of reading are a *readError.
func (w *Writer) storeFrom(ctx context.Context, s *slot, f *reusable) error {
	body, err := f.open(ctx)
	if err != nil {
		return &readError{err}
	}
	defer body.Close() // only read from
	return w.store(ctx, s, &readErrorMarker{body})
}

// open opens the content, which is compared with its digest while it is read.
func (f *reusable) open(ctx context.Context) (io.ReadCloser, error) {
	all := &sections{}
	var readers []io.Reader
	for _, p := range f.extents {
		file, _, err := regular.Open(f.folder, p.volume)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.files = append(all.files, file)
		readers = append(readers, io.NewSectionReader(file, p.entry.Offset, p.entry.Size))
	}
	all.Reader = io.MultiReader(readers...)
	e := f.extents[0].entry
	body, err := layout.Verified(ctx, all, ocispec.Descriptor{Digest: e.Digest, Size: e.length()}, "content of an earlier archive")
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return body, nil
}

// sections reads sections of files, one after the other.
type sections struct {
	io.Reader
	files []*os.File
}

func (s *sections) Close() error { return closeAll(s.files) }

// A readError is an error of reading, not of writing.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// A readErrorMarker makes the errors of its reader a *readError.
type readErrorMarker struct{ io.Reader }

func (m *readErrorMarker) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}
