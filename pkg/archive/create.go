package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Create prepares an archive of c in dir, which is created if it does not exist. The location of
// every byte is decided and the free space is checked before the first byte is written: if space is
// short, the error is a *space.Error. An interrupted run with the same content is continued.
// PutBlob copies content that such a run wrote for another plan, or that the newest set in the
// folder has. If another run writes to the folder, the error is a *lockfile.LockedError. If dir
// already has an intact set with the same content, nothing is written: see Complete.
func Create(ctx context.Context, dir string, c Content, opts Options) (*Writer, error) {
	w, err := create(ctx, dir, c, opts)
	if err != nil {
		return nil, fmt.Errorf("writing an archive to %s: %w", dir, err)
	}
	return w, nil
}

func create(ctx context.Context, dir string, c Content, opts Options) (*Writer, error) {
	if err := opts.setDefaults(); err != nil {
		return nil, err
	}
	if err := c.check(&opts); err != nil {
		return nil, err
	}
	if err := opts.check(&c); err != nil {
		return nil, err
	}
	if w, err := openComplete(ctx, dir, c, opts); err != nil || w != nil {
		return w, err
	}
	w := &Writer{dir: dir, opts: opts, carried: byDigest(c.Deltas)}
	w.buffers.New = func() any { return new([writeBuffer]byte) }
	if err := w.prepare(ctx, c); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// setDefaults fills in the options that are not set.
func (o *Options) setDefaults() error {
	switch {
	case o.VolumeSize == 0:
		o.VolumeSize = DefaultVolumeSize
	case o.VolumeSize < minVolumeSize:
		return fmt.Errorf("volumes of %d bytes: they have to have at least %d", o.VolumeSize, minVolumeSize)
	}
	if err := o.reserveParity(); err != nil {
		return err
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.freeSpace == nil {
		o.freeSpace = space.Free
	}
	if o.maxFileSize == nil {
		o.maxFileSize = maxFileSize
	}
	return nil
}

// openComplete returns a Writer that has nothing to do if the newest set in dir, or the repair of a
// set there, is the one that would be written. Otherwise it returns nil.
func openComplete(ctx context.Context, dir string, c Content, opts Options) (*Writer, error) {
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
	e, err := readExisting(root, id)
	if err != nil {
		opts.Log.Warn("the newest archive in the folder cannot be read; writing another one", "dir", dir, "error", err)
		return nil, nil
	}
	if c.Plan != nil && e.plan != nil {
		// The plan is not compressed only to compare it.
		plain := c.PlanDigest
		if plain == "" {
			if plain, _, err = c.Plan.measure(); err != nil {
				return nil, err
			}
		}
		if plain != e.head.Plan {
			return nil, nil
		}
		c.packedPlan = &packedPlan{plain: e.head.Plan, file: *e.plan, text: planFile(c.Plan)}
	}
	p, ok, err := opts.packLike(c, &e.head, e.identity)
	if err != nil {
		return nil, err
	}
	if !ok || e.outer != nil && e.outer.checkInnerFile(root) != nil {
		return nil, nil
	}
	p.fillFrom(e)
	for i := range p.outer.Volumes {
		if err := p.outer.Volumes[i].checkLabel(root); err != nil {
			opts.Log.Warn("the newest archive in the folder is damaged; writing another one", "dir", dir, "error", err)
			return nil, nil
		}
	}
	if opts.Sign != nil && opts.MaySign != nil && !opts.MaySign(state.SetRef{Sequence: id.sequence, Set: e.digest}) {
		opts.Log.Warn("the newest archive in the folder was written by someone else and is not signed; writing another one", "dir", dir)
		return nil, nil
	}
	w := &Writer{dir: dir, opts: opts, packing: p, complete: true, carried: byDigest(c.Deltas)}
	w.makeSlots()
	for i := range w.slots {
		w.slots[i].done = true
	}
	if err := w.removeLeftovers(root, l); err != nil {
		opts.Log.Warn("cannot remove what an earlier run left in the folder", "dir", dir, "error", err)
	}
	return w, w.sign(ctx, durable.Folder{Root: root}, e.digest)
}

// candidate returns the set of a folder that may be the one to be written.
func (o *Options) candidate(l *listing) (setID, bool) {
	if o.Repair != nil {
		return setID{o.Repair.Sequence, true}, slices.Contains(l.repairs, o.Repair.Sequence)
	}
	sequence, ok := l.newest()
	complete := *o
	complete.After = 0 // one that is there keeps its number
	id := setID{sequence: sequence}
	return id, ok && complete.couldBe(id)
}

// prepare does everything that comes before the first byte of content.
func (w *Writer) prepare(ctx context.Context, c Content) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.lockFolder(); err != nil {
		return err
	}
	resumed, err := w.chooseSet(c)
	if err != nil {
		return err
	}
	for _, e := range w.oversized {
		w.opts.Log.Warn("the first volume is larger than the limit for it", "path", e.path(), "size", e.Size, "limit", w.opts.VolumeSize)
	}
	w.makeSlots()
	if err := w.checkParity(); err != nil {
		return err
	}
	if err := w.checkFiles(); err != nil {
		return err
	}
	if err := w.ensureSpace(); err != nil {
		return err
	}
	if err := w.createFiles(); err != nil {
		return err
	}
	if resumed {
		if err := w.resume(ctx); err != nil {
			return err
		}
	}
	return w.findReusable()
}

// ensureSpace checks the free space. What was set aside is removed if space is short for it.
func (w *Writer) ensureSpace() error {
	err := w.checkSpace()
	var full *space.Error
	if !errors.As(err, &full) || !w.hasAside() {
		return err
	}
	w.opts.Log.Warn("removing what an interrupted run wrote for another plan, since space is short", "dir", w.dir)
	if err := w.dropAside(); err != nil {
		return err
	}
	return w.checkSpace()
}

// lockFolder creates and locks the folders.
func (w *Writer) lockFolder() error {
	if err := durable.MkdirAll(w.dir, 0o755); err != nil {
		return explainReadOnly(err)
	}
	var err error
	if w.root, err = os.OpenRoot(w.dir); err != nil {
		return err
	}
	for {
		if err := w.root.Mkdir(partialName, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return explainReadOnly(err)
		}
		info, err := w.root.Lstat(partialName)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s exists and is not a folder: remove it", partialName)
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
		// If the previous run is just removing the folder, try again.
		if !errors.Is(err, fs.ErrNotExist) {
			return explainReadOnly(err)
		}
	}
}

// createFiles creates the files of the partial folder.
func (w *Writer) createFiles() error {
	name, disk := w.set.id().manifest(), durable.Folder{Root: w.partial}
	if w.encrypter != nil {
		if err := w.createInner(disk); err != nil {
			return w.writeError(err, w.set.id().inner())
		}
	}
	if old, err := regular.Read(w.partial, name, maxSet); err != nil || digest.FromBytes(old) != w.digest {
		if err := disk.Write(name, w.outer.write); err != nil {
			return w.writeError(err, name)
		}
	}
	for _, v := range w.set.Volumes {
		f, err := regular.Edit(w.partial, v.Name, os.O_CREATE, 0o644)
		if err != nil {
			return w.writeError(err, v.Name)
		}
		w.volumes = append(w.volumes, f)
	}
	var err error
	w.journal, err = regular.Edit(w.partial, journalName, os.O_CREATE|os.O_APPEND, 0o644)
	return w.writeError(err, journalName)
}
