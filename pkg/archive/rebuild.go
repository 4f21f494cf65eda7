package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive/parity"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
)

// RebuildOptions are the options of Rebuild.
type RebuildOptions struct {
	// To is the folder that rebuilt volumes are written to. If it is empty, a volume replaces the damaged
	// file, and one that is missing is written beside the set manifest.
	To string
	// Progress, if not nil, is called with the number of bytes read or written since the last call.
	Progress func(n int64)

	freeSpace func(dir string) (int64, error) // replaced in tests
}

// A RebuiltVolume is a volume that was rebuilt.
type RebuiltVolume struct {
	Name   string `json:"name"`
	Folder string `json:"folder"`
	Size   int64  `json:"size"`
	// Blocks is how many of its blocks were missing or damaged, of TotalBlocks.
	Blocks      int `json:"blocks"`
	TotalBlocks int `json:"totalBlocks"`
}

// Rebuild rebuilds missing and damaged volumes of the set that was opened from its parity files. It reads all
// volumes and parity files once. A volume gets its name only after every byte was compared with the set
// manifest. If too much is lost, nothing is written, and the error is of kind advice.Mismatch.
func (a *Archive) Rebuild(ctx context.Context, opts RebuildOptions) ([]RebuiltVolume, error) {
	if opts.freeSpace == nil {
		opts.freeSpace = space.Free
	}
	m := a.selected()
	r := &rebuild{archive: a, member: m, layout: parityLayout(m.outer, m.digest), opts: &opts}
	done, err := r.run(ctx)
	if err != nil {
		return done, fmt.Errorf("rebuilding volumes of the archive in %s: %w", a.dirNames(), err)
	}
	return done, nil
}

// A rebuild rebuilds the volumes of a set.
type rebuild struct {
	archive *Archive
	member  *member
	layout  parity.Layout
	opts    *RebuildOptions
	damaged []int // the volumes, from 0 on
}

func (r *rebuild) run(ctx context.Context) (done []RebuiltVolume, err error) {
	files, problems := r.openParity()
	defer func() {
		for _, f := range files {
			_ = f.ReaderAt.(io.Closer).Close() // only read from
		}
	}()
	if len(files) == 0 {
		if len(problems) > 0 {
			return nil, advice.New(advice.Mismatch, "copy the parity files again", "no parity file is usable: %w", errors.Join(problems...))
		}
		return nil, advice.New(advice.Input, "name all folders of the archive; an archive has parity files if it was written with Options.Redundancy",
			"there are no parity files (%s and so on)", r.member.set.id().parity(1))
	}
	data := make([][]io.ReaderAt, len(r.member.volumes))
	for i := range data {
		for _, f := range r.member.volumes[i].files {
			data[i] = append(data[i], f)
		}
	}
	recovery, err := parity.NewRecovery(r.layout, data, files)
	if err != nil {
		return nil, err
	}
	if err := recovery.Examine(ctx, r.opts.Progress); err != nil {
		return nil, err
	}
	for i := range data {
		// A file that is too long is intact in all blocks.
		if recovery.Damaged(i) > 0 || r.member.volumes[i].problem != "" {
			r.damaged = append(r.damaged, i)
		}
	}
	if blocks, shards := recovery.Lost(); blocks > 0 {
		return nil, r.tooMuch(recovery, blocks, shards)
	}
	return r.write(ctx, recovery)
}

// tooMuch describes what cannot be rebuilt.
func (r *rebuild) tooMuch(recovery *parity.Recovery, blocks, shards int) error {
	var names []string
	for _, i := range r.damaged {
		names = append(names, fmt.Sprintf("%s (%d of %d blocks)", r.member.outer.Volumes[i].Name, recovery.Damaged(i), recovery.Blocks()))
	}
	for p := range recovery.Parities() {
		if n := recovery.Damaged(len(r.member.volumes) + p); n > 0 {
			names = append(names, fmt.Sprintf("%s (%d of %d blocks)", r.member.set.id().parity(p+1), n, recovery.Blocks()))
		}
	}
	return advice.New(advice.Mismatch, fmt.Sprintf("copy %d of these files again and repeat, or request the lost content with gantry archive repair-request", shards),
		"too much is lost: at most %d files may be damaged at the same position, and at %d positions there are up to %d more: %s",
		recovery.Parities(), blocks, shards, strings.Join(names, ", "))
}

// openParity opens the parity files of the set. problems are those of files that are not used.
func (r *rebuild) openParity() (files []parity.File, problems []error) {
	for dir, root := range r.archive.folders {
		for _, name := range r.archive.parityNames(r.member, dir) {
			f, _, err := regular.Open(root, name)
			var head *parity.Head
			if err == nil {
				if head, err = parity.ReadHead(r.layout, f); err != nil {
					_ = f.Close() // only read from
				}
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("%s in %s: %w", name, r.archive.dirs[dir], err))
				r.archive.log.Warn("skipping a parity file", "file", name, "dir", r.archive.dirs[dir], "error", err)
				continue
			}
			files = append(files, parity.File{Head: head, ReaderAt: f})
		}
	}
	return files, problems
}

// write rebuilds the damaged volumes, folder by folder.
func (r *rebuild) write(ctx context.Context, recovery *parity.Recovery) (done []RebuiltVolume, err error) {
	byFolder := map[string][]int{}
	for _, i := range r.damaged {
		byFolder[r.folder(i)] = append(byFolder[r.folder(i)], i)
	}
	var folders []string
	for dir, volumes := range byFolder {
		folders = append(folders, dir)
		var needed int64
		for _, i := range volumes {
			needed += r.layout.Sizes[i]
		}
		if err := space.CheckWith(r.opts.freeSpace, dir, needed); err != nil {
			return nil, err
		}
	}
	slices.Sort(folders)
	for _, dir := range folders {
		rebuilt, err := r.writeFolder(ctx, recovery, dir, byFolder[dir])
		done = append(done, rebuilt...)
		if err != nil {
			return done, fmt.Errorf("writing to %s: %w", dir, err)
		}
	}
	return done, nil
}

// folder returns where a volume is written.
func (r *rebuild) folder(i int) string {
	switch files := r.member.volumes[i].files; {
	case r.opts.To != "":
		return r.opts.To
	case len(files) > 0:
		return r.archive.dirs[files[0].dir]
	}
	return r.archive.dirs[r.member.dir]
}

func (r *rebuild) writeFolder(ctx context.Context, recovery *parity.Recovery, dir string, volumes []int) (done []RebuiltVolume, err error) {
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return nil, explainReadOnly(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	folder := durable.Folder{Root: root}
	if err := folder.Sweep(".", time.Now().Add(-time.Hour)); err != nil {
		return nil, explainReadOnly(err)
	}
	drafts, to := map[int]*durable.Draft{}, map[int]io.WriterAt{}
	defer func() {
		for _, d := range drafts {
			err = errors.Join(err, d.Discard())
		}
	}()
	for _, i := range volumes {
		if drafts[i], err = folder.Draft("."); err != nil {
			delete(drafts, i)
			return nil, advice.Wrap(advice.Failure, explainReadOnly(err), "set Options.To to a folder on another disk")
		}
		to[i] = drafts[i]
	}
	if err := recovery.Rebuild(ctx, to, r.opts.Progress); err != nil {
		if space.IsFull(err) {
			err = space.Full(r.opts.freeSpace, dir, 0, err)
		}
		return nil, err
	}
	for _, i := range volumes {
		v := &r.member.outer.Volumes[i]
		if err := checkRebuilt(ctx, drafts[i], v); err != nil {
			return done, err
		}
		d := drafts[i]
		delete(drafts, i)
		if err := d.Commit(v.Name); err != nil {
			return done, err
		}
		done = append(done, RebuiltVolume{Name: v.Name, Folder: dir, Size: v.Size, Blocks: recovery.Damaged(i), TotalBlocks: recovery.Blocks()})
	}
	return done, nil
}

// checkRebuilt compares every byte of a rebuilt volume with the set manifest.
func checkRebuilt(ctx context.Context, from io.ReaderAt, v *volume) error {
	c := &volumeChecker{volume: v}
	newFileReader(func(int64) {}).read(ctx, &file{readAtCloser: nopCloser{from}, name: v.Name, size: v.Size}, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(c.findings) > 0 {
		return advice.New(advice.Mismatch, "the parity files are of other volumes or were altered; copy them again, or request the lost content with gantry archive repair-request",
			"%s does not have the content that the set manifest lists after it was rebuilt", v.Name)
	}
	return nil
}

// A nopCloser is a file that another closes.
type nopCloser struct{ io.ReaderAt }

func (nopCloser) Close() error { return nil }
