package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

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

// adopt copies from what was set aside the content that this set has, too, and
// removes the rest. What cannot be read there, or is not what its digest says,
// is fetched like everything else.
func (w *Writer) adopt(ctx context.Context) error {
	if !w.hasAside() {
		return nil
	}
	aside, err := w.partial.OpenRoot(asideName)
	if err != nil {
		return err
	}
	defer aside.Close()
	found, err := w.shared(aside)
	if err != nil {
		w.opts.Log.Warn("what an interrupted run wrote for another plan cannot be read", "dir", w.dir, "error", err)
	}
	var size atomic.Int64
	g, copying := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range found {
		g.Go(func() error {
			ok, err := w.copyFrom(copying, aside, f)
			if ok {
				size.Add(f.entry.Size)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	w.opts.Log.Info("what an interrupted run wrote for another plan is used", "dir", w.dir, "size", size.Load())
	return w.dropAside()
}

// A find is content in a volume that was set aside.
type find struct {
	volume string
	entry  *entry
}

// shared lists the content of the set in aside that its journal names and that
// this set has a free slot for.
func (w *Writer) shared(aside *os.Root) ([]find, error) {
	l, err := list(aside)
	if err != nil {
		return nil, err
	}
	sequence, ok := l.newest()
	if !ok {
		return nil, nil
	}
	raw, err := regular.Read(aside, setName(sequence), maxSet)
	if err != nil {
		return nil, err
	}
	s, err := parseSet(raw)
	if err != nil {
		return nil, err
	}
	written, err := w.journalled(aside)
	if err != nil {
		return nil, err
	}
	var found []find
	for i := range s.Volumes {
		for j := range s.Volumes[i].Entries {
			e := &s.Volumes[i].Entries[j]
			if slot := w.slots[e.Digest]; e.Path == "" && written[e.Digest] && slot.entry.Size == e.Size {
				found = append(found, find{s.Volumes[i].Name, e})
			}
		}
	}
	return found, nil
}

// journalled is the content of this set that a journal in aside names.
func (w *Writer) journalled(aside *os.Root) (map[digest.Digest]bool, error) {
	f, _, err := regular.Open(aside, journalName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	written := map[digest.Digest]bool{}
	lines := bufio.NewScanner(io.LimitReader(f, maxSet))
	for lines.Scan() {
		if s := w.slots[digest.Digest(lines.Text())]; s != nil {
			written[s.entry.Digest] = true
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, err
	}
	return written, nil
}

// copyFrom copies one content into its slot. ok is false where it was not to be
// had; err is of the medium that is written to, or the end of ctx.
func (w *Writer) copyFrom(ctx context.Context, aside *os.Root, f find) (ok bool, err error) {
	s := w.slots[f.entry.Digest]
	mine, err := w.take(ctx, s)
	if err != nil || !mine {
		return false, err
	}
	err = w.storeFrom(ctx, s, aside, f)
	w.give(s, err == nil)
	var unread *unreadError
	if errors.As(err, &unread) && ctx.Err() == nil {
		w.opts.Log.Warn("what an interrupted run wrote is damaged and is fetched again", "digest", f.entry.Digest, "error", err)
		return false, nil
	}
	return err == nil, err
}

// storeFrom reads the content from aside and stores it. What is wrong with the
// reading is an *unreadError.
func (w *Writer) storeFrom(ctx context.Context, s *slot, aside *os.Root, f find) error {
	file, _, err := regular.Open(aside, f.volume)
	if err != nil {
		return &unreadError{err}
	}
	section := io.NewSectionReader(file, f.entry.Offset, f.entry.Size)
	body, err := layout.Verified(ctx, readCloser{section, file}, ocispec.Descriptor{Digest: f.entry.Digest, Size: f.entry.Size}, "what an interrupted run wrote")
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
