package pull

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// MakeRoot opens the folder that Options.To names, and creates it if it does not exist.
func MakeRoot(dir string) (*os.Root, error) {
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return nil, env.Inputf("Options.To: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, env.Inputf("Options.To: %w", err)
	}
	return root, nil
}

// WriteBelow writes a file to its place below a folder, and reports whether it was there. Folders that are missing are
// created. Nothing is written through a symbolic link that leads out of the folder.
func (s *FileSource) WriteBelow(ctx context.Context, f site.MirroredFile, root *os.Root, force bool) (present bool, err error) {
	folder, base := path.Split(f.Name)
	if folder == "" {
		return s.writeIn(ctx, f, root, base, force)
	}
	err = (durable.Folder{Root: root}).MkdirAll(path.Clean(folder))
	if err == nil {
		var below *os.Root
		if below, err = root.OpenRoot(path.Clean(folder)); err == nil {
			defer func() { err = errors.Join(err, below.Close()) }()
			return s.writeIn(ctx, f, below, base, force)
		}
	}
	hint := ""
	if link := linkIn(root, folder); link != "" {
		hint = "remove the symbolic link " + filepath.Join(root.Name(), filepath.FromSlash(link)) + ", or name another folder: links that lead out of it are not followed"
	}
	return false, env.InputHint(hint, "making the folder for %s: %w", f.Name, err)
}

// linkIn returns the first part of a path below a folder that is a symbolic link, or "".
func linkIn(root *os.Root, name string) string {
	at := ""
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		at = path.Join(at, part)
		if info, err := root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}
