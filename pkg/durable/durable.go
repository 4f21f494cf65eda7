// Package durable writes files that are whole or not there.
//
// A file is written under a temporary name in the folder where it will stand,
// synced, renamed, and the folder synced after it: a reader, and a machine that
// loses power, sees the old file or the new one and nothing in between.
package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile replaces the file at path by text, with mode 0644 less the umask.
func WriteFile(path string, text []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// WritePrivate is WriteFile with mode 0600, from the first byte on.
func WritePrivate(path string, text []byte) error {
	return replace(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Write replaces the file at path by what write writes. Where write returns an
// error, nothing is left behind and the old file stays.
func Write(path string, write func(io.Writer) error) error {
	return replace(path, 0o644, write)
}

// replace is Write with a mode. Until the end the file is its owner's alone.
func replace(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(f.Name()))
		}
	}()
	if err = write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a folder durable. File systems that cannot sync a
// folder are taken as they are.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
