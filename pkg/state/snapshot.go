package state

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

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// Snapshots are the parsed catalogs of a cache: one file per catalog image, named by its digest. As
// with the rest of the cache, several runs may use them at the same time, and they may be deleted at
// any time.
type Snapshots struct {
	cache string
	dir   string // their folder in the cache
}

// OpenSnapshots returns the parsed catalogs of the cache in a folder.
func OpenSnapshots(cacheDir string) Snapshots { return Snapshots{cacheDir, "catalogs"} }

// OpenGraphs returns the update graphs of catalogs that were published, in the cache in a folder. They are
// small, and are to be kept for longer than the rest of the cache.
func OpenGraphs(cacheDir string) Snapshots { return Snapshots{cacheDir, "graphs"} }

func (s Snapshots) name(root digest.Digest) string {
	return path.Join(s.dir, strings.Replace(root.String(), ":", "-", 1))
}

// Snapshot opens the snapshot of an image, as a file that implements io.ReaderAt. It sets the file's
// modification time, so that Expire keeps snapshots that are in use.
func (s Snapshots) Snapshot(root digest.Digest) (fs.File, error) {
	if err := root.Validate(); err != nil {
		return nil, err
	}
	name := filepath.Join(s.cache, filepath.FromSlash(s.name(root)))
	f, _, err := regular.OpenPath(name)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // it fails on a read-only disk, which does not matter
	return f, nil
}

// KeepSnapshot saves what write writes, completely or not at all.
func (s Snapshots) KeepSnapshot(root digest.Digest, write func(io.Writer) error) (err error) {
	if err := root.Validate(); err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Join(s.cache, s.dir), 0o755); err != nil {
		return err
	}
	dir, err := os.OpenRoot(s.cache)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	draft, err := durable.Folder{Root: dir, NoSync: true}.Draft(s.dir)
	if err != nil {
		return err
	}
	if err := write(draft); err != nil {
		return errors.Join(err, draft.Discard())
	}
	return draft.Commit(s.name(root))
}

// Expire removes snapshots that were last used before a time, and what killed runs left.
func (s Snapshots) Expire(before time.Time) error {
	dir := filepath.Join(s.cache, s.dir)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = errors.Join(durable.Folder{Root: root}.Sweep(".", before), root.Close())
	entries, listErr := os.ReadDir(dir)
	err = errors.Join(err, listErr)
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
