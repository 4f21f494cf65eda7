// Package folder writes catalogs as folders of files.
//
// Write uses the layout of opm: PACKAGE/catalog.json (or catalog.yaml), and the objects without package
// in a file beside these folders. It writes a new folder and renames it, so that the target is always
// either the old catalog or the new one. It replaces an existing folder only if it contains nothing but
// a catalog in this layout, so that no other files are lost. Edit replaces one object in the files of a
// catalog and keeps all other bytes.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

// A Form is the format of the files.
type Form string

// The forms.
const (
	JSON Form = "json" // one object a line, as it was read
	YAML Form = "yaml" // one document an object
)

// ErrForeign means that a folder contains other files than those of Write.
var ErrForeign = errors.New("the folder contains other files than those of a catalog; use an empty or new folder")

// ErrBusy means that a folder cannot be renamed: it is the working directory or a mount point.
var ErrBusy = errors.New("the folder cannot be replaced since it is the working directory or a mount point; use a folder in it")

// Write writes a catalog to the folder dir, which does not have to exist. The error matches ErrForeign or
// ErrBusy if it must not or cannot be replaced.
func Write(ctx context.Context, dir string, c *catalog.Catalog, form Form) (err error) {
	files, err := catalog.Files(c)
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	if err := Check(dir); err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".new-")
	if err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }()
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := writeFile(draft, f, form); err != nil {
			return fmt.Errorf("writing the catalog to %s: %w", dir, err)
		}
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return fmt.Errorf("writing the catalog to %s: %w", dir, err)
	}
	if err := replace(dir, draft); err != nil {
		return fmt.Errorf("putting the catalog into %s: %w", dir, err)
	}
	return nil
}

func writeFile(dir string, f catalog.File, form Form) error {
	name := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(f.Path, path.Ext(f.Path))+"."+string(form)))
	if err := durable.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return durable.Write(name, func(out io.Writer) error {
		if form == JSON {
			_, err := f.WriteTo(out)
			return err
		}
		return writeYAML(out, f)
	})
}

func writeYAML(w io.Writer, f catalog.File) error {
	for _, m := range f.Metas {
		text, err := m.YAML()
		if err == nil {
			_, err = io.WriteString(w, "---\n"+string(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Check returns the error that Write would return for the folder dir: it matches ErrForeign or ErrBusy if
// the folder must not or cannot be replaced.
func Check(dir string) error {
	err := replaceable(dir)
	if err == nil && isWorking(dir) {
		err = ErrBusy
	}
	if err != nil {
		return fmt.Errorf("writing the catalog to %s: %w", dir, err)
	}
	return nil
}

// replaceable returns nil if dir does not exist, is empty, or was written by Write.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			if !written(e) {
				return ErrForeign
			}
			continue
		}
		inner, err := os.ReadDir(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		for _, f := range inner {
			if !written(f) {
				return ErrForeign
			}
		}
	}
	return nil
}

// isWorking reports whether dir is the working directory, which must not be removed.
func isWorking(dir string) bool {
	here, err := os.Stat(".")
	if err != nil {
		return false
	}
	there, err := os.Stat(dir)
	return err == nil && os.SameFile(here, there)
}

func written(e fs.DirEntry) bool {
	return e.Type().IsRegular() && (e.Name() == "catalog.json" || e.Name() == "catalog.yaml")
}

// replace renames draft to dir and removes the old content.
func replace(dir, draft string) error {
	old := draft + ".old"
	err := os.Rename(dir, old)
	if errors.Is(err, syscall.EBUSY) {
		return ErrBusy
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(draft, dir); err != nil {
		return errors.Join(err, restore(old, dir))
	}
	return errors.Join(syncFolder(filepath.Dir(dir)), os.RemoveAll(old))
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(durable.Folder{Root: root}.Sync("."), root.Close())
}

// restore renames the old content back.
func restore(old, dir string) error {
	if err := os.Rename(old, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
