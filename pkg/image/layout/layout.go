// Package layout reads and writes OCI image layouts: folders with `oci-layout`, `index.json` and
// blobs by digest (image-spec, image-layout.md).
//
// Gantry uses a Layout as a source and as a destination, which users name with oci://DIR, and as
// the cache of a workspace. No file gets the name of a digest before its content was compared with
// that digest: it is written to a temporary file in the same folder, measured, hashed, synced and
// renamed. Content that is read is measured and hashed again, because a disk or another program may
// have changed it: damage is an error in place of the end of the file.
//
// Files in the folder are opened through os.Root and must be regular files, so that a layout from
// another source cannot lead outside of the folder. A Layout is safe for concurrent use, also by
// several processes. The exception is index.json: the last SetIndex wins.
package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A Layout is an OCI image layout in a folder. The folder stays open until the Layout is garbage
// collected.
type Layout struct {
	root    *os.Root
	disk    durable.Folder // root, for writing
	folders folders
	// written has the blobs that were written, by digest, if this process created the layout as an empty cache: what
	// it does not have is not looked for on the disk. Nil for other layouts.
	written *digestSet
}

// A digestSet is a set of digests for several goroutines.
type digestSet struct {
	mu  sync.Mutex
	all map[digest.Digest]bool
}

func (s *digestSet) add(d digest.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[d] = true
}

func (s *digestSet) has(d digest.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[d]
}

// Options configure how a layout is written.
type Options struct {
	// NoSync does not sync blobs to the disk. It is for a cache, which may lose its latest content:
	// a blob that a power failure damaged is detected when it is read. In a cache, a missing or
	// damaged oci-layout is written again, whatever else the folder contains.
	NoSync bool
}

// stale is the age after which a temporary file belongs to a run that was killed, if files cannot
// be locked.
const stale = 24 * time.Hour

// Create opens the layout in dir, or creates an empty one if dir does not exist or is empty. It
// deletes temporary files that a killed run left.
// A folder with other files is an error.
func Create(dir string, opts Options) (*Layout, error) {
	l, err := create(dir, opts, time.Now().Add(-stale))
	if err != nil {
		return nil, fmt.Errorf("opening OCI layout %s: %w", dir, err)
	}
	return l, nil
}

// lockName is the file with which a process locks a layout.
const lockName = ".gantry-lock"

// Lock prevents other processes from writing to the layout until the lock is released. If another
// process has the lock, the error is a *lockfile.LockedError. While it is locked, all temporary
// files belong to killed runs and are deleted whatever their age. Every process that writes to a
// layout must lock it, except for a cache, which is never locked.
func (l *Layout) Lock() (*lockfile.Lock, error) {
	lock, err := lockfile.Acquire(l.root, lockName)
	if err != nil {
		return nil, err
	}
	// The clock of a network share may be ahead.
	if err := l.sweep(time.Now().Add(stale)); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock, nil
}

// sweep deletes the temporary files that were last written before a time.
func (l *Layout) sweep(before time.Time) error {
	for _, dir := range []string{".", blobDir(digest.SHA256), blobDir(digest.SHA512)} {
		if err := l.disk.Sweep(dir, before); err != nil {
			return err
		}
	}
	return nil
}

func create(dir string, opts Options, before time.Time) (*Layout, error) {
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	l := &Layout{root: root, disk: durable.Folder{Root: root, NoSync: opts.NoSync}}
	switch err = l.check(); {
	case opts.NoSync && (errors.Is(err, fs.ErrNotExist) || errors.As(err, new(markerError))):
		if err = l.writeMarkers(); err == nil {
			err = l.trackIfEmpty()
		}
	case errors.Is(err, fs.ErrNotExist):
		err = l.initialize()
	}
	if err == nil {
		err = l.sweep(before)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return l, nil
}

// Open opens the layout in dir, which must exist and have version 1.0.0.
func Open(dir string) (*Layout, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening OCI layout %s: %w", dir, err)
	}
	l := &Layout{root: root, disk: durable.Folder{Root: root}}
	if err := l.check(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = noLayoutError{}
		}
		return nil, errors.Join(fmt.Errorf("opening OCI layout %s: %w", dir, err), root.Close())
	}
	return l, nil
}

// A noLayoutError means that a folder has no oci-layout file.
type noLayoutError struct{}

func (noLayoutError) Error() string {
	return "it is not an OCI layout: it has no file " + ocispec.ImageLayoutFile
}

func (noLayoutError) Unwrap() error { return fs.ErrNotExist }

// check reads the oci-layout file.
func (l *Layout) check() error {
	raw, err := regular.Read(l.root, ocispec.ImageLayoutFile, 1<<10)
	if err != nil {
		return err
	}
	var marker ocispec.ImageLayout
	if err := json.Unmarshal(raw, &marker); err != nil {
		return markerError(fmt.Sprintf("%s is damaged: %v", ocispec.ImageLayoutFile, err))
	}
	if marker.Version != ocispec.ImageLayoutVersion {
		return markerError(fmt.Sprintf("%s has version %q; Gantry reads %s", ocispec.ImageLayoutFile, marker.Version, ocispec.ImageLayoutVersion))
	}
	return nil
}

// A markerError means that the oci-layout file is damaged, or of another version.
type markerError string

func (e markerError) Error() string { return string(e) }

// Advice implements advice.Adviser.
func (markerError) Advice() (advice.Kind, string) {
	return advice.Mismatch, "copy the layout again, or write {\"imageLayoutVersion\":\"" + ocispec.ImageLayoutVersion + "\"} to the file if that version is right"
}

// initialize creates an empty layout in a folder without other files.
func (l *Layout) initialize() error {
	names, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range names {
		// A run that was killed here may have left these.
		if n := e.Name(); n != ocispec.ImageBlobsDir && n != ocispec.ImageIndexFile && !durable.IsTemporary(n) {
			return advice.New(advice.Failure, "name an empty folder or a new one", "the folder is not an OCI layout and contains %s", n)
		}
	}
	return l.writeMarkers()
}

// trackIfEmpty begins to remember what is written if there are no blobs yet.
func (l *Layout) trackIfEmpty() error {
	for _, a := range []digest.Algorithm{digest.SHA256, digest.SHA512} {
		names, err := fs.ReadDir(l.root.FS(), blobDir(a))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(names) > 0 {
			return nil
		}
	}
	l.written = &digestSet{all: map[digest.Digest]bool{}}
	return nil
}

// writeMarkers writes what makes the folder a layout, and syncs it, also in a cache. The oci-layout
// file is written last.
func (l *Layout) writeMarkers() error {
	disk := durable.Folder{Root: l.root}
	if err := disk.MkdirAll(blobDir(digest.SHA256)); err != nil {
		return err
	}
	if _, err := l.root.Lstat(ocispec.ImageIndexFile); errors.Is(err, fs.ErrNotExist) {
		index, err := encodeIndex(ocispec.Index{})
		if err == nil {
			err = disk.WriteFile(ocispec.ImageIndexFile, index)
		}
		if err != nil {
			return err
		}
	}
	marker, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	return disk.WriteFile(ocispec.ImageLayoutFile, marker)
}

// path returns the path of a file in the layout, for messages.
func (l *Layout) path(name string) string {
	return filepath.Join(l.root.Name(), filepath.FromSlash(name))
}
