package state

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A FileLayout says which names the files that users read have.
type FileLayout string

// The layouts. A workspace without a saved one has Gantry's.
const (
	GantryLayout   FileLayout = "gantry"
	OCMirrorLayout FileLayout = "oc-mirror"
)

// layoutFile has the layout of a workspace.
const layoutFile = "layout"

// workingDir is the folder of oc mirror in a workspace. A workspace with this name is that folder.
const workingDir = "working-dir"

// Layout returns the layout of the workspace, or "" if none was saved.
func (w *Workspace) Layout() (FileLayout, error) {
	text, err := w.readState(layoutFile)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return FileLayout(strings.TrimSpace(string(text))), err
}

// UseLayout sets the layout of the files that are written from now on, and saves it if save is set.
func (w *Workspace) UseLayout(layout FileLayout, save bool) error {
	w.layout = layout
	if !save {
		return nil
	}
	return w.keepText(layoutFile, []byte(string(layout)+"\n"))
}

// UsesLayout returns the layout of the files that are written.
func (w *Workspace) UsesLayout() FileLayout { return w.layout }

// filePrefix returns the path, in the workspace, before the names of files that users read.
func (w *Workspace) filePrefix() string {
	if dir, err := filepath.Abs(w.dir); w.layout != OCMirrorLayout || err == nil && filepath.Base(dir) == workingDir {
		return ""
	}
	return workingDir + "/"
}

// FilesDir returns the folder of files that users read.
func (w *Workspace) FilesDir() string { return filepath.Join(w.dir, w.filePrefix()) }

// SaveFile writes a file that users read, for example "logs/errors.txt", and returns its path.
func (w *Workspace) SaveFile(name string, text []byte) (string, error) {
	name = w.filePrefix() + name
	if err := w.disk.MkdirAll(path.Dir(filepath.ToSlash(name))); err != nil {
		return "", err
	}
	return filepath.Join(w.dir, name), w.disk.WriteFile(name, text)
}

// RemoveFile removes a file of SaveFile, if it exists.
func (w *Workspace) RemoveFile(name string) error {
	err := w.disk.Root.Remove(w.filePrefix() + name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// NewestFile returns the last, by its name, of the files of SaveFile whose names match a pattern of package path; nil if
// there is none.
func (w *Workspace) NewestFile(pattern string) ([]byte, error) {
	names, err := fs.Glob(w.disk.Root.FS(), w.filePrefix()+pattern)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return regular.Read(w.disk.Root, slices.Max(names), maxConfig)
}

// maxConfig is how many bytes of a configuration are read.
const maxConfig = 64 << 20
