// Package folder keeps catalogs as folders of files on the disk.
//
// Write lays a catalog out as opm does, PACKAGE/catalog.json (or catalog.yaml)
// and the objects without a package beside them. The folder is written beside
// its place and then moved there, so that it is the old catalog or the new one
// and never half of either. A folder that is there already is replaced only if
// it holds nothing but a catalog in this layout: what somebody else keeps in it
// is not ours to remove.
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
	"github.com/gantry-mirror/gantry/pkg/durable"
)

// A Form is how objects are written.
type Form string

// The forms.
const (
	JSON Form = "json" // one object a line, as it was read
	YAML Form = "yaml" // one document an object
)

// ErrForeign says that a folder holds something that Write has not written.
var ErrForeign = errors.New("the folder holds other files than those of a catalog; name an empty or new one")

// ErrBusy says that a folder cannot be moved away: it is the working directory,
// or something is mounted on it.
var ErrBusy = errors.New("the folder cannot be replaced as a whole, since it is the working directory or mounted; name one in it")

// Write writes a catalog to the folder dir, which need not exist. The error is
// ErrForeign or ErrBusy where it must not or cannot be replaced.
func Write(ctx context.Context, dir string, c *catalog.Catalog, form Form) (err error) {
	files, err := catalog.Files(c)
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	if err := Check(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
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

func writeFile(dir string, f catalog.File, form Form) (err error) {
	name := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(f.Path, path.Ext(f.Path))+"."+string(form)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if form == JSON {
		_, err = f.WriteTo(out)
	} else {
		err = writeYAML(out, f)
	}
	if err != nil {
		return err
	}
	return out.Sync()
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

// Check says whether Write may write to the folder dir, before there is anything
// to write. The error is ErrForeign or ErrBusy where it may not.
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

// replaceable reports whether dir is absent, empty, or as Write writes it.
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

// isWorking reports whether dir is the working directory, which would be gone
// from under whoever is in it.
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

// replace moves draft to dir, whose former content goes.
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

// restore puts the former content back.
func restore(old, dir string) error {
	if err := os.Rename(old, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
