package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/regular"
)

// The partial folder stands in the archive's until Finish:
//
//	lock                    who writes
//	journal                 digests of the content that is in its place
//	gantry-000001.json      the set manifest, which says whose work it is
//	gantry-000001.0001.tar  volumes as far as they are written
//	before/                 the same of an interrupted run with another plan,
//	                        until what both have in common was copied
const (
	partialName = ".gantry-partial"
	lockName    = "lock"
	journalName = "journal"
)

// settle decides on the sequence of the new set. Work of an interrupted run with
// the same content is kept, other work is set aside.
func (w *Writer) settle(c Content) (resumed bool, err error) {
	l, err := list(w.root)
	if err != nil {
		return false, err
	}
	if old := w.unfinished(l); old != nil {
		w.packing, err = pack(c, old.set.Sequence, old.set.Parent, w.opts.VolumeSize)
		if err != nil {
			return false, err
		}
		if w.digest == old.digest {
			return true, w.reclaim(l)
		}
		w.opts.Log.Info("the unfinished archive in the folder is of another plan", "dir", w.dir)
		if err := w.setAside(old, l); err != nil {
			return false, err
		}
	}
	if err := w.clear(lockName, asideName); err != nil {
		return false, err
	}
	w.fresh = !w.hasAside()
	sequence := l.highest() + 1
	if sequence > maxSequence {
		return false, fmt.Errorf("sequence %d is the last there is: use an empty folder", maxSequence)
	}
	w.packing, err = pack(c, sequence, w.parent(l), w.opts.VolumeSize)
	return false, err
}

// unfinished returns the set that an interrupted run was writing; nil where
// there is none, or where it cannot be told from a finished one.
func (w *Writer) unfinished(l *listing) *packing {
	inside, err := list(w.partial)
	if err != nil {
		return nil
	}
	sequence, ok := inside.newest()
	if newest, some := l.newest(); !ok || some && sequence <= newest {
		return nil
	}
	raw, err := regular.Read(w.partial, setName(sequence), maxSet)
	if err != nil {
		return nil
	}
	s, err := parseSet(raw)
	if err != nil || s.Sequence != sequence {
		return nil
	}
	return &packing{set: s, digest: digest.FromBytes(raw)}
}

// reclaim takes volumes back that an interrupted Finish had given their names.
func (w *Writer) reclaim(l *listing) error {
	for _, v := range w.set.Volumes {
		if slices.Contains(l.files[w.set.Sequence], v.Name) {
			if err := w.root.Rename(v.Name, partialName+"/"+v.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear removes all from the partial folder but what is to stay.
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

// remove removes the files of a set, the set manifest first.
func remove(folder *os.Root, names []string) error {
	manifestFirst := func(a, b string) int { return cmp.Compare(len(a), len(b)) } // its name is the shortest
	for _, name := range slices.SortedFunc(slices.Values(names), manifestFirst) {
		if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", name, err)
		}
	}
	return nil
}

// parent is the digest of the newest set manifest that can be read.
func (w *Writer) parent(l *listing) digest.Digest {
	for _, sequence := range slices.Backward(l.sets) {
		if _, d, err := readSet(w.root, sequence); err == nil {
			return d
		}
	}
	return ""
}

// recall finds out what an interrupted run had written. What the journal names
// is read and compared before it counts.
func (w *Writer) recall(ctx context.Context) error {
	names, err := w.journalled(w.partial)
	if err != nil {
		return err
	}
	named := map[*slot]bool{}
	for d := range names {
		named[w.slot(d)] = true
	}
	w.opts.Log.Info("what an interrupted run wrote is read again", "dir", w.dir, "entries", len(named))
	var size, wrong atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for s := range named {
		g.Go(func() error {
			ok, err := w.written(ctx, s)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil || !ok {
				wrong.Add(1)
				w.opts.Log.Warn("what the interrupted run wrote is damaged and is fetched again", "digest", s.entry.Digest, "error", err)
				return nil
			}
			size.Add(s.entry.Size)
			w.mu.Lock()
			defer w.mu.Unlock()
			s.done = true
			w.left -= s.entry.Size
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	w.opts.Log.Info("an interrupted run is continued", "found", int64(len(named))-wrong.Load(), "size", size.Load())
	// A last line that was torn off must not run into the next.
	_, err = w.journal.WriteString("\n")
	return w.writeError(err, journalName)
}

// written reports whether an entry is in its place as it has to be, with its
// header and padding.
func (w *Writer) written(ctx context.Context, s *slot) (bool, error) {
	f, e := w.volumes[s.volume], s.entry
	before := prelude(e.path(), e.Size)
	after := make([]byte, padded(e.Size)-e.Size)
	for offset, want := range map[int64][]byte{e.Offset - int64(len(before)): before, e.Offset + e.Size: after} {
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, offset); err != nil || !bytes.Equal(got, want) {
			return false, err
		}
	}
	section := io.NopCloser(io.NewSectionReader(f, e.Offset, e.Size))
	body, err := layout.Verified(ctx, section, ocispec.Descriptor{Digest: e.Digest, Size: e.Size}, "what was written")
	if err != nil {
		return false, err
	}
	buf := w.buffers.Get().(*[writeBuffer]byte)
	defer w.buffers.Put(buf)
	for {
		if _, err := body.Read(buf[:]); err != nil {
			return err == io.EOF, nil
		}
	}
}
