package catalog

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// maxLinks is how many links are followed for one file, as on Linux.
const maxLinks = 40

var errLeadsOut = errors.New("the link points outside of the catalog's folder; replace it by a copy of the file")

// staysInside returns an error if following a link leaves the file system at any folder of the
// path. A file system that cannot read links is trusted.
func staysInside(fsys fs.FS, name string) error {
	links, ok := fsys.(fs.ReadLinkFS)
	if !ok {
		return nil
	}
	at, todo, followed := ".", strings.Split(name, "/"), 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			if at == "." {
				return errLeadsOut
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		info, err := links.Lstat(next)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if followed++; followed > maxLinks {
			return errors.New("too many levels of symbolic links")
		}
		target, err := links.ReadLink(next)
		if err != nil {
			return err
		}
		if path.IsAbs(target) {
			return errLeadsOut
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return nil
}
