package registrytest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Keep copies what a registry of Start stores into a new folder, for
// Options.Storage of others. Nothing may be written meanwhile. The caller removes
// the folder, also after an error unless it is "".
func (s *Server) Keep() (dir string, err error) {
	if s.process == nil {
		return "", errors.New("keeping what a registry in memory stores: use Start")
	}
	dir, err = newFolder()
	if err == nil {
		err = copyStorage(dir, s.process.storage())
	}
	if err != nil {
		return dir, fmt.Errorf("keeping what the registry stores: %w", err)
	}
	return dir, nil
}

// newFolder makes a folder for what a registry stores. A registry syncs each of
// its many small files: where there is memory for them, nobody waits for a disk.
func newFolder() (string, error) { return os.MkdirTemp(memoryFolder(), "gantry-registry") }

// TempDir is the TempDir of a test, with its files in memory where there is room,
// for tests whose programs sync much.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := newFolder()
	if err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("registrytest: %v", err)
		}
	})
	return dir
}

// copyStorage copies the storage of a registry. Blobs, which registries put in
// their place whole and never write to again, are shared where the file system
// can; the rest is small.
func copyStorage(to, from string) error {
	source := os.DirFS(from)
	return fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if d.Name() == "data" && os.Link(filepath.Join(from, name), target) == nil {
			return nil
		}
		data, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}
