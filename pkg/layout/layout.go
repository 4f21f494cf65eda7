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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/durable"
)

// A Layout is an OCI image layout in a folder. It holds the folder open until
// it is garbage.
type Layout struct {
	root *os.Root
	sync bool
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
// empty. Temporary files that a dead run left are removed. A folder that holds
// other things is refused.
func Create(dir string, opts Options) (*Layout, error) {
	l, err := create(dir, opts, time.Now().Add(-stale))
	if err != nil {
		return nil, fmt.Errorf("opening OCI layout %s: %w", dir, err)
	}
	return l, nil
}

func create(dir string, opts Options, before time.Time) (*Layout, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	l := &Layout{root: root, sync: !opts.NoSync}
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
	l := &Layout{root: root, sync: true}
	if err := l.check(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("it has no file %s, so it is no OCI layout: %w", ocispec.ImageLayoutFile, err)
		}
		return nil, errors.Join(fmt.Errorf("opening OCI layout %s: %w", dir, err), root.Close())
	}
	return l, nil
}

// check reads the file that makes a folder a layout.
func (l *Layout) check() error {
	raw, err := l.readFile(ocispec.ImageLayoutFile, 1<<10)
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
		if n := e.Name(); n != ocispec.ImageBlobsDir && n != ocispec.ImageIndexFile && !strings.HasPrefix(n, tempPrefix) {
			return fmt.Errorf("the folder is no OCI layout and holds %s: name an empty folder or one that is to be made", n)
		}
	}
	if err := l.root.MkdirAll(blobDir("sha256"), 0o755); err != nil {
		return err
	}
	if _, err := l.root.Lstat(ocispec.ImageIndexFile); errors.Is(err, fs.ErrNotExist) {
		if err := l.SetIndex(context.Background(), ocispec.Index{}); err != nil {
			return err
		}
	}
	marker, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	return l.replace(ocispec.ImageLayoutFile, marker)
}

// sweep removes temporary files that were last written before the given time.
func (l *Layout) sweep(before time.Time) error {
	for _, dir := range []string{".", blobDir("sha256"), blobDir("sha512")} {
		names, err := fs.ReadDir(l.root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range names {
			if !strings.HasPrefix(e.Name(), tempPrefix) {
				continue
			}
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
				continue // gone, no file of ours, or in use
			}
			if err := l.root.Remove(dir + "/" + e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing a file of a dead run: %w", err)
			}
		}
	}
	return nil
}

// open opens a regular file and nothing else.
func (l *Layout) open(name string) (*os.File, fs.FileInfo, error) {
	before, err := l.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: l.path(name), Err: errors.New("not a regular file")}
	}
	f, err := l.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = &fs.PathError{Op: "open", Path: l.path(name), Err: errors.New("the file changed while it was opened")}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// readFile reads a file of at most limit bytes.
func (l *Layout) readFile(name string, limit int64) ([]byte, error) {
	f, _, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", l.path(name), limit)
	}
	return raw, nil
}

// path is what people are told a name inside the layout is.
func (l *Layout) path(name string) string {
	return filepath.Join(l.root.Name(), filepath.FromSlash(name))
}

func (l *Layout) syncDir(dir string) error {
	if !l.sync {
		return nil
	}
	return durable.SyncDir(l.path(dir))
}
