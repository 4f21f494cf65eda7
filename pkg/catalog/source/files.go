package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// databaseMagic is how an SQLite database begins (sqlite.org, "Database File
// Format").
const databaseMagic = "SQLite format 3\x00"

// openFiles finds out what lies at a path: a lone file that begins like a
// database, a folder with manifests/ and metadata/ (a bundle), or a file-based
// catalog.
func (s *Source) openFiles(path string) error {
	var err error
	if s.fsys, err = s.from.Files.Dir(path); err != nil {
		return err
	}
	entries, err := fs.ReadDir(s.fsys, ".")
	if err != nil {
		return err
	}
	s.Kind = FileBased
	if len(entries) == 0 {
		return fmt.Errorf("the folder is empty: %w", fs.ErrNotExist)
	}
	dirs := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() {
			dirs[e.Name()] = true
		}
	}
	switch {
	case dirs["manifests"] && dirs["metadata"]:
		s.Kind = Bundle
	case len(entries) == 1 && entries[0].Type().IsRegular():
		database, err := isDatabase(s.fsys, entries[0].Name())
		if err != nil {
			return err
		}
		if database {
			s.Kind, s.file = SQLite, entries[0].Name()
		}
	}
	return nil
}

func isDatabase(fsys fs.FS, name string) (yes bool, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, len(databaseMagic))
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return bytes.Equal(head[:n], []byte(databaseMagic)), err
}
