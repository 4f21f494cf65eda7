package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// Finish turns the volumes into an archive. All entries must be written. It syncs them, renames
// them to their final names, and the set manifest last. Older sets in the folder are not touched
// until then. After an error the work is kept for another run. Parity files are written last, from the
// complete volumes. If that fails, the archive is complete without them, and another run writes them.
func (w *Writer) Finish(ctx context.Context) error {
	if !w.complete {
		if err := w.finish(ctx); err != nil {
			return fmt.Errorf("finishing the archive in %s: %w", w.dir, err)
		}
		w.opts.Log.Info("the archive is complete", "dir", w.dir, "sequence", w.set.Sequence, "volumes", len(w.set.Volumes))
	}
	if w.opts.Redundancy == 0 {
		return nil
	}
	return addParity(ctx, w.dir, w.set.Sequence, &w.opts)
}

func (w *Writer) finish(ctx context.Context) error {
	if names := w.unwritten(); names != "" {
		return fmt.Errorf("content was not written: %s", names)
	}
	for i := range w.set.Volumes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.finishVolume(ctx, i); err != nil {
			return err
		}
	}
	if err := w.writeCopy(ctx); err != nil {
		return err
	}
	if err := w.writeManifest(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.renameFiles()
}

// writeManifest writes the files beside the volumes, in the partial folder.
func (w *Writer) writeManifest(ctx context.Context) error {
	id, disk := w.set.id(), durable.Folder{Root: w.partial}
	final := w.digest
	if e, _ := w.copyEntry(); e != nil || w.set.split() || w.encrypter != nil { // all digests are known now
		var err error
		if final, _, err = WriteFunc(w.outer.write).measure(); err != nil {
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

// sign writes the signature of the set manifest with this digest into its folder, if the options
// ask for it.
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
		err = fmt.Errorf("it is %s now and was %s: another run changed it, or the disk is faulty", sum.Digest(), manifest)
	}
	if err := errors.Join(err, text.Close()); err != nil {
		return fmt.Errorf("signing %s: %w", id.manifest(), err)
	}
	if old, err := regular.Read(disk.Root, id.signature(), int64(len(signature))); err == nil && bytes.Equal(old, signature) {
		return nil // the disk may be read-only by now
	}
	return w.writeError(disk.WriteFile(id.signature(), signature), id.signature())
}

// finishVolume writes what a volume has besides content, and syncs it.
func (w *Writer) finishVolume(ctx context.Context, i int) error {
	v, f := &w.set.Volumes[i], w.volumes[i]
	for j := range v.Entries {
		if e := &v.Entries[j]; e.Path != "" && e.Path != copyPath {
			if err := w.writeFile(ctx, i, e, w.files[e.Path]); err != nil {
				return err
			}
		}
	}
	if _, err := f.WriteAt(make([]byte, trailerSize), v.Size-trailerSize); err != nil {
		return w.writeError(err, v.Name)
	}
	// A run with another plan may have left a longer file.
	if err := f.Truncate(v.Size); err != nil {
		return w.writeError(err, v.Name)
	}
	return w.writeError(f.Sync(), v.Name)
}

// writeFile writes a file that is not content to its location. What it is made from may have
// changed since it was measured.
func (w *Writer) writeFile(ctx context.Context, volume int, e *entry, text WriteFunc) error {
	from := pipeOf(text)
	defer func() { _ = from.Close() }() // a pipe
	body, err := layout.Verified(ctx, from, ocispec.Descriptor{Digest: e.Digest, Size: e.Size}, e.Path)
	if err != nil {
		return err
	}
	return w.writeEntry(ctx, volume, e, body)
}

// renameFiles renames the files to their final names. From here on nothing is cancelled. After a
// crash in between, the next run continues.
func (w *Writer) renameFiles() error {
	if err := w.closeFiles(); err != nil {
		return err
	}
	names := elements.Map(w.set.Volumes, func(v volume) string { return v.Name })
	id := w.set.id()
	names = append(names, id.sum())
	if w.encrypter != nil {
		names = append(names, id.inner())
	}
	if w.opts.Sign != nil {
		names = append(names, id.signature())
	}
	move := func(name string) error {
		if volumeFile().MatchString(name) {
			if _, err := w.root.Lstat(name); err == nil {
				return fmt.Errorf("%s is in the folder now, and was not when the run began: remove it, or move it to another folder", name)
			}
		}
		return w.root.Rename(partialName+"/"+name, name)
	}
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
		if err := w.removeOlder(); err != nil {
			return fmt.Errorf("the archive is complete, but removing older ones failed: %w", err)
		}
	}
	return w.removePartial()
}

// removeOlder removes the older sets.
func (w *Writer) removeOlder() error {
	l, err := list(w.root)
	if err != nil {
		return err
	}
	for sequence, names := range l.files {
		if sequence < w.set.Sequence {
			volumes := l.volumesOf(w.root, sequence)
			if err := remove(w.root, names); err != nil {
				return err
			}
			if err := remove(w.root, volumes); err != nil {
				return err
			}
		}
	}
	return durable.Folder{Root: w.root}.Sync(".")
}

// removePartial removes the partial folder and releases its lock.
func (w *Writer) removePartial() error {
	err := errors.Join(w.clear(lockName), w.lock.Release())
	w.lock = nil
	if err == nil {
		// If it cannot be removed, another run has just started in it.
		_ = w.root.Remove(partialName)
		err = durable.Folder{Root: w.root}.Sync(".")
	}
	return err
}

// Close releases the folder. Unfinished work is kept for another run. If there is none, nothing is
// left behind.
func (w *Writer) Close() error {
	err := w.closeFiles()
	switch {
	case w.lock == nil:
	case w.complete, w.fresh && w.nothingWritten():
		err = errors.Join(err, w.removePartial())
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

// nothingWritten reports whether there is nothing that another run could use.
func (w *Writer) nothingWritten() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.slots, func(s slot) bool { return s.done })
}

// closeFiles closes the volumes, the journal and what was set aside, once.
func (w *Writer) closeFiles() error {
	if w.closed {
		return nil
	}
	w.closed = true
	err := closeAll(w.volumes)
	if w.journal != nil {
		err = errors.Join(err, w.journal.Close())
	}
	if w.aside != nil {
		err = errors.Join(err, w.aside.Close())
	}
	return err
}
