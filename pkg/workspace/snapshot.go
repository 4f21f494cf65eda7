package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/durable"
)

// Snapshots are the parsed catalogs in a cache, a file for each catalog image,
// named by its digest. Like the cache, they may be used by several runs at the
// same time, and may be gone at any time.
type Snapshots struct{ cache string }

// snapshotDir is the folder in the cache.
const snapshotDir = "catalogs"

// OpenSnapshots returns those of the cache in a folder.
func OpenSnapshots(cacheDir string) Snapshots { return Snapshots{cacheDir} }

func snapshotName(root digest.Digest) string {
	return path.Join(snapshotDir, strings.Replace(root.String(), ":", "-", 1))
}

// Snapshot opens what is kept of an image, as a file that implements io.ReaderAt. What is read is as old as its last
// use, so that Expire spares it.
func (s Snapshots) Snapshot(root digest.Digest) (fs.File, error) {
	if err := root.Validate(); err != nil {
		return nil, err
	}
	name := filepath.Join(s.cache, filepath.FromSlash(snapshotName(root)))
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = os.ErrInvalid
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // a cache on a read-only disk serves all the same
	return f, nil
}

// KeepSnapshot keeps what write writes, whole or not at all.
func (s Snapshots) KeepSnapshot(root digest.Digest, write func(io.Writer) error) (err error) {
	if err := root.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.cache, snapshotDir), 0o755); err != nil {
		return err
	}
	dir, err := os.OpenRoot(s.cache)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	draft, err := durable.Folder{Root: dir, NoSync: true}.Draft(snapshotDir)
	if err != nil {
		return err
	}
	if err := write(draft); err != nil {
		return errors.Join(err, draft.Discard())
	}
	return draft.Commit(snapshotName(root))
}

// Expire removes snapshots that were last used before the given time.
func (s Snapshots) Expire(before time.Time) error {
	dir := filepath.Join(s.cache, snapshotDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil || !info.ModTime().Before(before) {
			continue
		}
		if removeErr := os.Remove(filepath.Join(dir, e.Name())); !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}
