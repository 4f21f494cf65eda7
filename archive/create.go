package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/space"
)

// Create prepares an archive of c in dir, which is made where it is absent. The
// place of every byte is settled and the space for it is checked before the
// first is written: a *space.Error says what lacks. A run with the same content
// that was interrupted is taken up; what such a run wrote for other content, and
// what the newest set of the folder has, PutBlob copies from there. A folder that
// another run writes to is a *lockfile.HeldError. Where dir has a sound set with
// the same content already, nothing is written: see Complete.
func Create(ctx context.Context, dir string, c Content, opts Options) (*Writer, error) {
	w, err := create(ctx, dir, c, opts)
	if err != nil {
		return nil, fmt.Errorf("writing an archive to %s: %w", dir, err)
	}
	return w, nil
}

func create(ctx context.Context, dir string, c Content, opts Options) (*Writer, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := opts.check(&c); err != nil {
		return nil, err
	}
	if w, err := same(ctx, dir, c, opts); err != nil || w != nil {
		return w, err
	}
	w := &Writer{dir: dir, opts: opts}
	w.buffers.New = func() any { return new([writeBuffer]byte) }
	if err := w.prepare(ctx, c); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// complete fills in what was left out.
func (o *Options) complete() error {
	switch {
	case o.VolumeSize == 0:
		o.VolumeSize = DefaultVolumeSize
	case o.VolumeSize < minVolumeSize:
		return fmt.Errorf("volumes of %d bytes: they have to have at least %d", o.VolumeSize, minVolumeSize)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.free == nil {
		o.free = space.Free
	}
	if o.largest == nil {
		o.largest = largestFile
	}
	return nil
}

// same returns a Writer that has nothing to do, where the newest set in dir, or
// what mends a set there, is the one that would be written; else nil.
func same(ctx context.Context, dir string, c Content, opts Options) (*Writer, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l, err := list(root)
	if err != nil {
		return nil, err
	}
	id, ok := opts.candidate(l)
	if !ok {
		return nil, nil
	}
	e, err := readEarlier(root, id)
	if err != nil {
		opts.Log.Warn("the newest archive in the folder cannot be read, another is written", "dir", dir, "error", err)
		return nil, nil
	}
	p, err := opts.pack(c, id.sequence, e.head.Parent, e.head.Encryption)
	if err != nil {
		return nil, err
	}
	if !p.resembles(&e.head, e.identity) || e.outer != nil && e.outer.checkSealed(root) != nil {
		return nil, nil
	}
	p.become(e)
	for i := range p.outer.Volumes {
		if err := p.outer.Volumes[i].recognise(root); err != nil {
			opts.Log.Warn("the newest archive in the folder is damaged, another is written", "dir", dir, "error", err)
			return nil, nil
		}
	}
	if opts.Sign != nil && opts.Known != nil && !opts.Known(BaseSet{id.sequence, e.digest}) {
		opts.Log.Warn("the newest archive in the folder is not signed, since it is not known whose it is; another is written", "dir", dir)
		return nil, nil
	}
	w := &Writer{dir: dir, opts: opts, packing: p, complete: true}
	w.arrange()
	for i := range w.slots {
		w.slots[i].done = true
	}
	if err := w.tidy(root, l); err != nil {
		opts.Log.Warn("what an earlier run left in the folder stays there", "dir", dir, "error", err)
	}
	return w, w.sign(ctx, durable.Folder{Root: root}, e.digest)
}

// recognise looks whether a file in folder has the volume's length and label.
func (v *volume) recognise(folder *os.Root) error {
	f, info, err := regular.Open(folder, v.Name)
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	first := &v.Entries[0]
	raw := make([]byte, min(first.Size, blockSize))
	if _, err := f.ReadAt(raw, first.Offset); err != nil {
		return err
	}
	if info.Size() != v.Size || first.Digest.Algorithm().FromBytes(raw) != first.Digest {
		return fmt.Errorf("%s is not that volume, or was altered", v.Name)
	}
	return nil
}

// candidate is the set of a folder that may be the one to be written.
func (o *Options) candidate(l *listing) (setID, bool) {
	if o.Repair != nil {
		return setID{o.Repair.Sequence, true}, slices.Contains(l.repairs, o.Repair.Sequence)
	}
	sequence, ok := l.newest()
	complete := *o
	complete.After = 0 // one that is there keeps its number
	id := setID{sequence: sequence}
	return id, ok && complete.mayBe(id)
}

// prepare does what comes before the first byte of content.
func (w *Writer) prepare(ctx context.Context, c Content) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.enter(); err != nil {
		return err
	}
	resumed, err := w.settle(c)
	if err != nil {
		return err
	}
	for _, e := range w.oversized {
		w.opts.Log.Warn("the first volume is larger than the limit for it", "path", e.path(), "size", e.Size, "limit", w.opts.VolumeSize)
	}
	w.arrange()
	if err := w.checkFiles(); err != nil {
		return err
	}
	if err := w.makeRoom(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	if resumed {
		if err := w.recall(ctx); err != nil {
			return err
		}
	}
	return w.search()
}

// makeRoom checks the space. What was set aside has to go where there is none for
// it beside the new volumes.
func (w *Writer) makeRoom() error {
	err := w.checkSpace()
	var full *space.Error
	if !errors.As(err, &full) || !w.hasAside() {
		return err
	}
	w.opts.Log.Warn("what an interrupted run wrote for another plan is removed, since space is short", "dir", w.dir)
	if err := w.dropAside(); err != nil {
		return err
	}
	return w.checkSpace()
}

// enter makes and locks the folders.
func (w *Writer) enter() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return readOnly(err)
	}
	var err error
	if w.root, err = os.OpenRoot(w.dir); err != nil {
		return err
	}
	for {
		if err := w.root.Mkdir(partialName, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return readOnly(err)
		}
		info, err := w.root.Lstat(partialName)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is there and is no folder: remove it", partialName)
		}
		if err == nil {
			w.partial, err = w.root.OpenRoot(partialName)
		}
		if err == nil {
			if w.lock, err = lockfile.Acquire(w.partial, lockName); err == nil {
				return nil
			}
			err = errors.Join(err, w.partial.Close())
			w.partial = nil
		}
		// Where the run before removes the folder on its way out, there is
		// nothing to wait for.
		if !errors.Is(err, fs.ErrNotExist) {
			return readOnly(err)
		}
	}
}

func readOnly(err error) error {
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the folder cannot be written to; is the medium read-only? %w", err)
	}
	return err
}

// begin makes the files of the partial folder.
func (w *Writer) begin() error {
	name, disk := w.set.id().manifest(), durable.Folder{Root: w.partial}
	if w.sealer != nil {
		if err := w.beginSealed(disk); err != nil {
			return w.writeError(err, w.set.id().sealed())
		}
	}
	if old, err := regular.Read(w.partial, name, maxSet); err != nil || digest.FromBytes(old) != w.digest {
		if err := disk.Write(name, w.outer.write); err != nil {
			return w.writeError(err, name)
		}
	}
	for _, v := range w.set.Volumes {
		f, err := w.partial.OpenFile(v.Name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return w.writeError(err, v.Name)
		}
		w.volumes = append(w.volumes, f)
	}
	var err error
	w.journal, err = w.partial.OpenFile(journalName, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	return w.writeError(err, journalName)
}
