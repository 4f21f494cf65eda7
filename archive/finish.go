package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/regular"
)

// Finish makes the volumes an archive: it needs every entry written, makes them
// durable, gives them their names, and the set manifest its name last. Sets
// that were in the folder before are not touched until then. After an error the
// work is kept for another run.
func (w *Writer) Finish(ctx context.Context) error {
	if w.complete {
		return nil
	}
	if err := w.finish(ctx); err != nil {
		return fmt.Errorf("finishing the archive in %s: %w", w.dir, err)
	}
	w.opts.Log.Info("the archive is complete", "dir", w.dir, "sequence", w.set.Sequence, "volumes", len(w.set.Volumes))
	return nil
}

func (w *Writer) finish(ctx context.Context) error {
	if names := w.missing(); names != "" {
		return fmt.Errorf("content was not written: %s", names)
	}
	for i := range w.set.Volumes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.seal(ctx, i); err != nil {
			return err
		}
	}
	if err := w.describe(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.publish()
}

// describe writes what stands beside the volumes, in the partial folder.
func (w *Writer) describe(ctx context.Context) error {
	id, disk := w.set.id(), durable.Folder{Root: w.partial}
	final := w.digest
	if w.set.split() || w.sealer != nil { // the digests of parts and files are known now
		var err error
		if final, _, err = Text(w.outer.write).measure(); err != nil {
			return err
		}
		if err := disk.Write(id.manifest(), w.outer.write); err != nil {
			return w.writeError(err, id.manifest())
		}
	}
	if err := disk.WriteFile(id.sum(), sum(id, final)); err != nil {
		return w.writeError(err, id.sum())
	}
	return w.sign(ctx, disk, final)
}

// sign writes the signature of the set manifest, which has to be the one of that
// digest, into its folder, where one is wanted.
func (w *Writer) sign(ctx context.Context, disk durable.Folder, manifest digest.Digest) error {
	if w.opts.Sign == nil {
		return nil
	}
	id := w.set.id()
	text, _, err := regular.Open(disk.Root, id.manifest())
	if err != nil {
		return err
	}
	sum := digest.SHA256.Digester()
	hashed := io.TeeReader(text, sum.Hash())
	signature, err := w.opts.Sign(ctx, hashed)
	if err == nil {
		_, err = io.Copy(io.Discard, hashed)
	}
	if err == nil && sum.Digest() != manifest {
		err = fmt.Errorf("it is %s now and was %s: another run or the medium changed it", sum.Digest(), manifest)
	}
	if err := errors.Join(err, text.Close()); err != nil {
		return fmt.Errorf("signing %s: %w", id.manifest(), err)
	}
	if old, err := regular.Read(disk.Root, id.signature(), int64(len(signature))); err == nil && bytes.Equal(old, signature) {
		return nil // the medium may be read-only by now
	}
	return w.writeError(disk.WriteFile(id.signature(), signature), id.signature())
}

// seal writes what a volume has besides content, and waits for the disk.
func (w *Writer) seal(ctx context.Context, i int) error {
	v, f := &w.set.Volumes[i], w.volumes[i]
	for j := range v.Entries {
		if e := &v.Entries[j]; e.Path != "" {
			if err := w.write(ctx, i, e, w.files[e.Path]); err != nil {
				return err
			}
		}
	}
	if _, err := f.WriteAt(make([]byte, trailerSize), v.Size-trailerSize); err != nil {
		return w.writeError(err, v.Name)
	}
	// A run with other intentions may have left a longer file.
	if err := f.Truncate(v.Size); err != nil {
		return w.writeError(err, v.Name)
	}
	return w.writeError(f.Sync(), v.Name)
}

// write writes a file that is not content to its place. What it is made of may
// have changed since it was measured.
func (w *Writer) write(ctx context.Context, volume int, e *entry, text Text) error {
	from, to := io.Pipe()
	go func() { to.CloseWithError(text(to)) }()
	defer func() { _ = from.Close() }() // a pipe
	body, err := layout.Verified(ctx, from, ocispec.Descriptor{Digest: e.Digest, Size: e.Size}, e.Path)
	if err != nil {
		return err
	}
	return w.copy(ctx, volume, e, body)
}

// publish gives the files their names. From here on nothing is cancelled: a
// crash in between is taken up by the next run.
func (w *Writer) publish() error {
	if err := w.closeFiles(); err != nil {
		return err
	}
	var names []string
	for _, v := range w.set.Volumes {
		names = append(names, v.Name)
	}
	id := w.set.id()
	names = append(names, id.sum())
	if w.sealer != nil {
		names = append(names, id.sealed())
	}
	if w.opts.Sign != nil {
		names = append(names, id.signature())
	}
	move := func(name string) error { return w.root.Rename(partialName+"/"+name, name) }
	for _, name := range names {
		if err := move(name); err != nil {
			return err
		}
	}
	disk := durable.Folder{Root: w.root}
	if err := disk.Sync("."); err != nil {
		return err
	}
	if err := move(id.manifest()); err != nil {
		return err
	}
	if err := disk.Sync("."); err != nil {
		return err
	}
	w.complete = true
	if w.opts.Replace {
		if err := w.replace(); err != nil {
			return fmt.Errorf("the archive is complete, but older ones are in the way: %w", err)
		}
	}
	return w.leave()
}

// replace removes the sets before this one.
func (w *Writer) replace() error {
	l, err := list(w.root)
	if err != nil {
		return err
	}
	for sequence, names := range l.files {
		if sequence < w.set.Sequence {
			if err := remove(w.root, names); err != nil {
				return err
			}
		}
	}
	return durable.Folder{Root: w.root}.Sync(".")
}

// leave removes the partial folder and lets go of it.
func (w *Writer) leave() error {
	err := errors.Join(w.clear(lockName), w.lock.Release())
	w.lock = nil
	if err == nil {
		// Where it does not go, another run has just moved in.
		_ = w.root.Remove(partialName)
	}
	return err
}

// Close lets go of the folder. What was written and not finished is kept for
// another run; where that is nothing, nothing stays.
func (w *Writer) Close() error {
	err := w.closeFiles()
	switch {
	case w.lock == nil:
	case w.complete, w.fresh && w.idle():
		err = errors.Join(err, w.leave())
	default:
		err = errors.Join(err, w.lock.Release())
		w.lock = nil
	}
	if w.partial != nil {
		err = errors.Join(err, w.partial.Close())
	}
	if w.root != nil {
		err = errors.Join(err, w.root.Close())
	}
	w.partial, w.root = nil, nil
	return err
}

// idle reports whether nothing was written that another run could use.
func (w *Writer) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.slots {
		if w.slots[i].done {
			return false
		}
	}
	return true
}

// closeFiles closes volumes, journal and what was set aside, once.
func (w *Writer) closeFiles() error {
	if w.closed {
		return nil
	}
	w.closed = true
	var errs []error
	for _, f := range w.volumes {
		errs = append(errs, f.Close())
	}
	if w.journal != nil {
		errs = append(errs, w.journal.Close())
	}
	if w.aside != nil {
		errs = append(errs, w.aside.Close())
	}
	return errors.Join(errs...)
}
