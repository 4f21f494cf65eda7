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

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/regular"
)

// asideName is the folder in the partial folder for the work of an interrupted
// run whose plan was another one: its set manifest, journal and volumes.
const asideName = "before"

// setAside puts the work of an interrupted run, for other content, where the
// Writer takes from it what the two have in common. l is the archive's folder,
// where that run may have got as far as giving volumes their final names.
func (w *Writer) setAside(old *packing, l *listing) error {
	if err := w.dropAside(); err != nil {
		return err
	}
	if err := w.partial.Mkdir(asideName, 0o755); err != nil {
		return err
	}
	id := old.set.id()
	given, other := l.split(id)
	move := func(name string) error {
		err := w.partial.Rename(name, asideName+"/"+name)
		if errors.Is(err, fs.ErrNotExist) {
			err = w.root.Rename(name, partialName+"/"+asideName+"/"+name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, v := range old.set.Volumes {
		if err := move(v.Name); err != nil {
			return err
		}
	}
	// The set manifest goes last: without it, nobody looks into the folder.
	for _, name := range []string{journalName, id.manifest()} {
		if err := move(name); err != nil {
			return err
		}
	}
	if l.files[id.sequence] = other; len(other) == 0 {
		delete(l.files, id.sequence)
	}
	return remove(w.root, given)
}

// split divides the files of a sequence into those of one set and the others.
func (l *listing) split(id setID) (of, other []string) {
	for _, name := range l.files[id.sequence] {
		if this, _, _ := parseName(name); this == id {
			of = append(of, name)
		} else {
			other = append(other, name)
		}
	}
	return of, other
}

// dropAside removes what was set aside, if there is any.
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

// A find is content in the volumes of an earlier set, whole or in parts.
type find struct {
	folder  *os.Root
	extents []extent
}

// An extent is an entry and the volume that it lies in.
type extent struct {
	volume string
	entry  *entry
}

// search finds what this set has in common with the work that was set aside, and
// with the sets of the folder, the newest first: PutBlob takes it from there.
func (w *Writer) search() error {
	if w.hasAside() {
		var err error
		if w.aside, err = w.partial.OpenRoot(asideName); err != nil {
			return err
		}
		written, err := w.journalled(w.aside)
		if err != nil {
			return err
		}
		w.find(w.aside, func(d digest.Digest) bool { return written[d] })
	}
	w.find(w.root, func(digest.Digest) bool { return true })
	return nil
}

// find notes the written content of the sets in folder that is still to be written
// here. A set that cannot be read has none.
func (w *Writer) find(folder *os.Root, written func(digest.Digest) bool) {
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
		if w.found() {
			return
		}
		raw, err := regular.Read(folder, id.manifest(), maxSet)
		if err != nil {
			continue
		}
		if s, err := parseUnfinished(raw); err == nil {
			w.findIn(folder, s, written)
		}
	}
}

// found reports whether nothing is left to be looked for.
func (w *Writer) found() bool {
	for i := range w.slots {
		if s := &w.slots[i]; !s.done && s.earlier == nil {
			return false
		}
	}
	return true
}

func (w *Writer) findIn(folder *os.Root, s *set, written func(digest.Digest) bool) {
	parts := map[digest.Digest]*find{}
	for i := range s.Volumes {
		for j := range s.Volumes[i].Entries {
			e := &s.Volumes[i].Entries[j]
			slot := w.slot(e.Digest)
			if e.Path != "" || slot == nil || slot.done || slot.entry.length() != e.length() || !written(e.Digest) {
				continue
			}
			this := extent{s.Volumes[i].Name, e}
			switch {
			case !e.leads():
				if f := parts[e.Digest]; f != nil {
					f.extents = append(f.extents, this)
				}
			case slot.earlier == nil:
				slot.earlier = &find{folder, []extent{this}}
				if e.Part != nil {
					parts[e.Digest] = slot.earlier
				}
			}
		}
	}
}

// journalled is the content of this set that a journal in folder names. One that
// is not there names none.
func (w *Writer) journalled(folder *os.Root) (map[digest.Digest]bool, error) {
	f, _, err := regular.Open(folder, journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	written := map[digest.Digest]bool{}
	lines := bufio.NewScanner(io.LimitReader(f, maxSet))
	for lines.Scan() {
		w.noted(lines.Text(), func(d digest.Digest) { written[d] = true })
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("reading the journal of the interrupted run: %w", err)
	}
	return written, nil
}

// noted calls yield for the content of this set whose digest begins as a line of
// the journal says. A line that is torn or of something else names none.
func (w *Writer) noted(line string, yield func(digest.Digest)) {
	if len(line) != noted {
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

// reuse stores content of an earlier set. It is false where that is not to be had,
// and the content has to be fetched; err is of the medium that is written to, or
// the end of ctx.
func (w *Writer) reuse(ctx context.Context, s *slot) (bool, error) {
	if s.earlier == nil {
		return false, nil
	}
	err := w.storeFrom(ctx, s, s.earlier)
	var unread *unreadError
	if errors.As(err, &unread) && ctx.Err() == nil {
		w.opts.Log.Warn("content of an earlier archive is damaged and is fetched again", "digest", s.entry.Digest, "error", err)
		s.earlier = nil
		return false, nil
	}
	return err == nil, err
}

// storeFrom reads content where it was found and stores it. What is wrong with the
// reading is an *unreadError.
func (w *Writer) storeFrom(ctx context.Context, s *slot, f *find) error {
	body, err := f.open(ctx)
	if err != nil {
		return &unreadError{err}
	}
	defer body.Close() // only read from
	return w.store(ctx, s, &marked{body})
}

// open opens the content, which is compared with its digest while it is read.
func (f *find) open(ctx context.Context) (io.ReadCloser, error) {
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

// sections reads pieces of files, one after the other.
type sections struct {
	io.Reader
	files []*os.File
}

func (s *sections) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// An unreadError is about what is read, not about what is written.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return e.err.Error() }
func (e *unreadError) Unwrap() error { return e.err }

// marked marks the errors of its reader.
type marked struct{ io.Reader }

func (m *marked) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &unreadError{err}
	}
	return n, err
}
