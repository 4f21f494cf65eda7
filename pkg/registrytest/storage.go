package registrytest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Keep copies the content of a registry started with Options.Alone into a new folder, which other
// registries can use as Options.Storage. Nothing may write to the registry meanwhile. The caller
// removes the folder, also after an error, unless dir is "".
func (s *Server) Keep() (dir string, err error) {
	s.needsFiles()
	if s.process == nil || s.namespace != "" {
		return "", errors.New("keeping the content of a registry in memory, or of a shared one: use Start with Options.Alone")
	}
	dir, err = newFolder()
	if err == nil {
		err = fillStorage(dir, s.process.storage(), "", true)
	}
	if err != nil {
		return dir, fmt.Errorf("keeping the content of the registry: %w", err)
	}
	return dir, nil
}

// newFolder creates a folder for the storage of a registry, in memory if possible, because a
// registry syncs each of its many small files.
func newFolder() (string, error) { return os.MkdirTemp(memoryFolder(), "gantry-registry") }

// TempDir is like the TempDir of a test, but in memory if possible, for tests whose programs sync
// often.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := newFolder()
	fail.On(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("registrytest: %v", err)
		}
	})
	return dir
}

// fillStorage copies a folder of Keep into the storage of a registry. The repositories go below a
// namespace. Blobs are only copied if blobs is true: the storage may have them already.
func fillStorage(storage, from, namespace string, blobs bool) error {
	if blobs {
		if err := copyFiles(filepath.Join(storage, "blobs"), filepath.Join(from, "blobs")); err != nil {
			return err
		}
	}
	return copyFiles(filepath.Join(storage, "repositories", namespace), filepath.Join(from, "repositories"))
}

// copyFiles copies a folder of a registry's storage. If the file system supports it, blobs are
// hard-linked, because a registry writes them once and never changes them; the other files are
// small.
func copyFiles(to, from string) error {
	source := os.DirFS(from)
	return fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if d.Name() == "data" {
			if err := os.Link(filepath.Join(from, name), target); err == nil || errors.Is(err, fs.ErrExist) {
				return nil
			}
		}
		data, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}
