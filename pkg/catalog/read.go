package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Read reads the file-based catalog in a file system. Like operator-registry's declcfg.LoadFS it
// reads every regular file in every folder, whatever its name, except those that `.indexignore`
// files list. Links to files are followed if they stay inside the file system. [os.Root.FS] also
// guards against links that change while they are followed.
//
// The error is an [*Error] if the content of files is wrong.
func Read(ctx context.Context, fsys fs.FS, options Options) (*Catalog, error) {
	files, err := list(fsys)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errNoFiles
	}

	reader := NewReader(options)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, file := range files {
		group.Go(func() error {
			f, err := fsys.Open(file.name)
			if err != nil {
				return fmt.Errorf("reading the catalog: %w", err)
			}
			defer f.Close() // read only
			return reader.File(file.name, contextReader{ctx, f})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return reader.Catalog()
}

var errNoFiles = errors.New("reading the catalog: the folder has no files; check the path")

// A listed is a file to read.
type listed struct {
	name string
	size int64
}

// list returns the regular files of a file system, and links to them, the largest first, so that
// the last one to be read is small.
func list(fsys fs.FS) ([]listed, error) {
	var files []listed
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the catalog: %w", err)
		}
		if entry.IsDir() {
			return nil
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			if err := staysInside(fsys, name); err != nil {
				return fmt.Errorf("reading the catalog: %s: %w", name, err)
			}
		}
		info, err := fs.Stat(fsys, name) // follows links
		if err != nil {
			return fmt.Errorf("reading the catalog: %w", err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("reading the catalog: %s is neither a regular file nor a link to one", name)
		}
		files = append(files, listed{name: name, size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	elements.Sort(files, func(a, b listed) int { return cmp.Compare(b.size, a.size) })
	return files, nil
}

// A contextReader stops reading when its context ends. It does not outlive the call that made it.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
