// Package layout keeps content in an OCI image layout: a folder with
// `oci-layout`, `index.json` and blobs under their digests
// (image-spec, image-layout.md).
//
// A Layout is three things to Gantry: a source and a destination that people
// name with oci://DIR, and the cache of a workspace. In all of them the same
// holds. No byte stands under a digest's name before it was compared with that
// digest: it is written to a temporary file in the same folder, measured,
// hashed, synced and renamed. What is read is measured and hashed again, since
// a disk or another program may have changed it: damage is an error in place of
// the end of the file, and never passes for content.
//
// Names inside the folder are opened through os.Root and have to be regular
// files, so that a layout from somebody else leads nowhere else. A Layout is
// safe for concurrent use, by several processes too. index.json is the
// exception: whoever sets it last wins.
package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
	"github.com/gantry-mirror/gantry/pkg/regular"
)

// A Layout is an OCI image layout in a folder. It holds the folder open until
// it is garbage.
type Layout struct {
	root *os.Root
	disk durable.Folder // root, for writing
}

// Options change how a layout is written.
type Options struct {
	// NoSync leaves out waiting for the disk. It suits a cache, which may lose
	// what it was given last: a blob that a power cut damaged is found when it
	// is read.
	NoSync bool
}

// stale is the age after which a temporary file belongs to a run that died.
const stale = 24 * time.Hour

// Create opens the layout in dir, or makes an empty one where dir is absent or
// empty. Temporary files that are a day old, which a dead run left, are removed;
// see Lock for younger ones. A folder that holds other things is refused.
func Create(dir string, opts Options) (*Layout, error) {
	l, err := create(dir, opts, time.Now().Add(-stale))
	if err != nil {
		return nil, fmt.Errorf("opening OCI layout %s: %w", dir, err)
	}
	return l, nil
}

// lockName is the file by which who writes to a layout keeps others out.
const lockName = ".gantry-lock"

// Lock keeps other processes from writing to the layout until the lock is
// released. Where one holds it, the error is a *lockfile.HeldError. Since nobody
// else writes then, temporary files are those of dead runs, and are removed
// whatever their age. Whoever writes to a layout that is locked has to lock it,
// too; a cache never is.
func (l *Layout) Lock() (*lockfile.Lock, error) {
	lock, err := lockfile.Acquire(l.root, lockName)
	if err != nil {
		return nil, err
	}
	// Clocks of network shares may be ahead of ours.
	if err := l.sweep(time.Now().Add(stale)); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock, nil
}

// sweep removes the temporary files that were last written before then.
func (l *Layout) sweep(before time.Time) error {
	for _, dir := range []string{".", blobDir(digest.SHA256), blobDir(digest.SHA512)} {
		if err := l.disk.Sweep(dir, before); err != nil {
			return err
		}
	}
	return nil
}

func create(dir string, opts Options, before time.Time) (*Layout, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	l := &Layout{root: root, disk: durable.Folder{Root: root, NoSync: opts.NoSync}}
	err = l.check()
	if errors.Is(err, fs.ErrNotExist) {
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

// Open opens the layout in dir, which has to be there and of version 1.0.0.
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

// A noLayoutError says that a folder lacks the file that makes it a layout.
type noLayoutError struct{}

func (noLayoutError) Error() string {
	return "it has no file " + ocispec.ImageLayoutFile + ", so it is no OCI layout"
}

func (noLayoutError) Unwrap() error { return fs.ErrNotExist }

// check reads the file that makes a folder a layout.
func (l *Layout) check() error {
	raw, err := regular.Read(l.root, ocispec.ImageLayoutFile, 1<<10)
	if err != nil {
		return err
	}
	var marker ocispec.ImageLayout
	if err := json.Unmarshal(raw, &marker); err != nil {
		return fmt.Errorf("reading %s: %w", ocispec.ImageLayoutFile, err)
	}
	if marker.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("%s says version %q; Gantry reads %s", ocispec.ImageLayoutFile, marker.Version, ocispec.ImageLayoutVersion)
	}
	return nil
}

// initialize makes an empty layout. The file that makes it one comes last.
func (l *Layout) initialize() error {
	names, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range names {
		// A run that died here may have left these.
		if n := e.Name(); n != ocispec.ImageBlobsDir && n != ocispec.ImageIndexFile && !durable.IsTemporary(n) {
			return fmt.Errorf("the folder is no OCI layout and holds %s: name an empty folder or one that is to be made", n)
		}
	}
	if err := l.root.MkdirAll(blobDir(digest.SHA256), 0o755); err != nil {
		return err
	}
	if _, err := l.root.Lstat(ocispec.ImageIndexFile); errors.Is(err, fs.ErrNotExist) {
		index, err := EncodeIndex(ocispec.Index{})
		if err == nil {
			err = l.disk.WriteFile(ocispec.ImageIndexFile, index)
		}
		if err != nil {
			return err
		}
	}
	marker, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	return l.disk.WriteFile(ocispec.ImageLayoutFile, marker)
}

// path is what people are told a name inside the layout is.
func (l *Layout) path(name string) string {
	return filepath.Join(l.root.Name(), filepath.FromSlash(name))
}
