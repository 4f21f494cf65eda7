package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/opencontainers/go-digest"
)

// Expire deletes the blobs that were written before a time and are larger than size bytes. It is
// for a cache, which may lose anything at any time; small blobs cost little space and are kept
// longer.
func (l *Layout) Expire(before time.Time, size int64) error {
	for _, algorithm := range []digest.Algorithm{digest.SHA256, digest.SHA512} {
		dir := blobDir(algorithm)
		entries, err := fs.ReadDir(l.root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking for old blobs: %w", err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || info.Size() <= size || !info.ModTime().Before(before) {
				continue // gone by now, or not meant
			}
			if err := l.root.Remove(path.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing an old blob: %w", err)
			}
		}
	}
	return nil
}
