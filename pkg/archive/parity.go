package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive/parity"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
)

// paritySuffix ends the names of parity files.
const paritySuffix = ".parity"

// reserveParity makes volumes smaller, so that parity files are not larger than VolumeSize.
func (o *Options) reserveParity() error {
	switch {
	case o.Redundancy == 0:
		return nil
	case o.Redundancy < 0 || o.Redundancy > 100:
		return fmt.Errorf("a redundancy of %d%%: it has to be from 1%% to 100%%", o.Redundancy)
	case o.Repair != nil:
		return errors.New("a repair has no redundancy")
	}
	volumes := (o.VolumeSize - parity.Reserve(o.VolumeSize)) / blockSize * blockSize
	if volumes < minVolumeSize {
		return advice.New(advice.Input, "set a larger Options.VolumeSize", "volumes of %d bytes are too small for redundancy", o.VolumeSize)
	}
	o.VolumeSize = volumes
	return nil
}

// parityLayout returns what parity files of a set depend on. s is as in the set manifest.
func parityLayout(s *set, d digest.Digest) parity.Layout {
	l := parity.Layout{Set: d}
	for _, v := range s.Volumes {
		l.Sizes = append(l.Sizes, v.Size)
	}
	return l
}

// checkParity returns an error if the set has too many volumes for parity files, before they are written.
func (w *Writer) checkParity() error {
	if w.opts.Redundancy == 0 {
		return nil
	}
	l := parityLayout(w.set, "")
	if err := l.Check(parity.Count(len(l.Sizes), w.opts.Redundancy)); err != nil {
		return advice.New(advice.Input, "set a larger Options.VolumeSize", "the archive cannot have a redundancy of %d%%: %w", w.opts.Redundancy, err)
	}
	if volumes := len(l.Sizes); volumes*w.opts.Redundancy < 100 {
		w.opts.Log.Warn("a parity file is as large as the largest volume; with smaller volumes, it would be a smaller part of the archive", "volumes", volumes, "parity", l.FileSize())
	}
	return nil
}

func addParity(ctx context.Context, dir string, sequence int, opts *Options) (err error) {
	defer func() {
		switch {
		case err == nil || ctx.Err() != nil:
		case space.IsFull(err):
			err = fmt.Errorf("the archive in %s is complete, but its parity is not: %w", dir, space.Full(opts.freeSpace, dir, 0, err))
		default:
			err = fmt.Errorf("the archive in %s is complete, but its parity is not: %w", dir, err)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	s, d, err := readSet(root, sequence)
	if err != nil {
		return err
	}
	l := parityLayout(s, d)
	count := parity.Count(len(l.Sizes), opts.Redundancy)
	if err := l.Check(count); err != nil {
		return advice.New(advice.Input, "set a larger Options.VolumeSize", "a redundancy of %d%%: %w", opts.Redundancy, err)
	}
	if parityPresent(root, s.id(), l, count) {
		return nil
	}
	if err := space.CheckWith(opts.freeSpace, dir, int64(count)*l.FileSize()); err != nil {
		return err
	}
	if err := (durable.Folder{Root: root}).Sweep(".", time.Now().Add(-time.Hour)); err != nil {
		return err
	}
	opts.Log.Info("computing parity", "dir", dir, "sequence", sequence, "volumes", len(l.Sizes), "parity", count)
	return writeParity(ctx, root, s, l, count, opts.WatchParity)
}

// parityPresent reports whether a folder has exactly these parity files of a set.
func parityPresent(root *os.Root, id setID, l parity.Layout, count int) bool {
	for number := 1; number <= count; number++ {
		f, info, err := regular.Open(root, id.parity(number))
		if err != nil {
			return false
		}
		h, err := parity.ReadHead(l, f)
		_ = f.Close() // only read from
		if err != nil || info.Size() != l.FileSize() || h.Number != number || h.Parities != count {
			return false
		}
	}
	return true
}

// writeParity computes parity files and gives them their names. Older ones of the set are removed.
func writeParity(ctx context.Context, root *os.Root, s *set, l parity.Layout, count int, watch func(total int64, done func() int64) (stop func())) (err error) {
	var data []io.ReaderAt
	var open []io.Closer
	defer func() {
		for _, f := range open {
			_ = f.Close() // only read from
		}
	}()
	for i := range s.Volumes {
		v := &s.Volumes[i]
		f, info, err := regular.Open(root, v.Name)
		if err != nil {
			return err
		}
		open = append(open, f)
		if info.Size() != v.Size {
			return fmt.Errorf("%s has %d bytes instead of %d", v.Name, info.Size(), v.Size)
		}
		data = append(data, f)
	}
	folder := durable.Folder{Root: root}
	var drafts []*durable.Draft
	defer func() {
		for _, d := range drafts {
			err = errors.Join(err, d.Discard())
		}
	}()
	var to []io.WriterAt
	for range count {
		d, err := folder.Draft(".")
		if err != nil {
			return explainReadOnly(err)
		}
		drafts, to = append(drafts, d), append(to, d)
	}
	var total int64
	for _, size := range l.Sizes {
		total += size
	}
	var done atomic.Int64
	stop := func() {}
	if watch != nil {
		stop = watch(total, done.Load)
	}
	err = parity.Encode(ctx, l, data, to, func(n int64) { done.Add(n) })
	stop()
	if err != nil {
		return err
	}
	for number := 1; len(drafts) > 0; number++ {
		d := drafts[0]
		drafts = drafts[1:]
		if err := d.Commit(s.id().parity(number)); err != nil {
			return err
		}
	}
	return removeParity(root, s.id(), count)
}

// removeParity removes parity files of a set with numbers above keep, which an earlier run with a higher
// percentage wrote.
func removeParity(root *os.Root, id setID, keep int) error {
	listed, err := list(root)
	if err != nil {
		return err
	}
	var old []string
	for _, name := range listed.files[id.sequence] {
		if strings.HasSuffix(name, paritySuffix) && name > id.parity(keep) && strings.HasPrefix(name, "gantry-"+id.String()+".") {
			old = append(old, name)
		}
	}
	return remove(root, old)
}
