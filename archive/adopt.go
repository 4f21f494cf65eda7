package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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
	given := l.files[old.set.Sequence]
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
	for _, name := range []string{journalName, setName(old.set.Sequence)} {
		if err := move(name); err != nil {
			return err
		}
	}
	delete(l.files, old.set.Sequence)
	return remove(w.root, given)
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

// A find is content in a volume of an earlier set.
type find struct {
	folder *os.Root
	volume string
	entry  *entry
}

// search finds what this set has in common with the work that was set aside, and
// with the newest set of the folder: PutBlob takes it from there.
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

// find notes the written content of the newest set in folder that is still to be
// written here. A set that cannot be read has none.
func (w *Writer) find(folder *os.Root, written func(digest.Digest) bool) {
	l, err := list(folder)
	if err != nil {
		return
	}
	sequence, ok := l.newest()
	if !ok {
		return
	}
	raw, err := regular.Read(folder, setName(sequence), maxSet)
	if err != nil {
		return
	}
	s, err := parseSet(raw)
	if err != nil {
		return
	}
	for i := range s.Volumes {
		for j := range s.Volumes[i].Entries {
			e := &s.Volumes[i].Entries[j]
			slot := w.slot(e.Digest)
			if e.Path == "" && slot != nil && !slot.done && slot.earlier == nil && slot.entry.Size == e.Size && written(e.Digest) {
				slot.earlier = &find{folder, s.Volumes[i].Name, e}
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
		if s := w.slot(digest.Digest(lines.Text())); s != nil {
			written[s.entry.Digest] = true
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("reading the journal of the interrupted run: %w", err)
	}
	return written, nil
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
	file, _, err := regular.Open(f.folder, f.volume)
	if err != nil {
		return &unreadError{err}
	}
	section := io.NewSectionReader(file, f.entry.Offset, f.entry.Size)
	body, err := layout.Verified(ctx, readCloser{section, file}, ocispec.Descriptor{Digest: f.entry.Digest, Size: f.entry.Size}, "content of an earlier archive")
	if err != nil {
		return errors.Join(&unreadError{err}, file.Close())
	}
	defer body.Close() // only read from
	return w.store(ctx, s, &marked{body})
}

type readCloser struct {
	io.Reader
	io.Closer
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
