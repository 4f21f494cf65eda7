package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// databaseMagic is the beginning of an SQLite database (sqlite.org, "Database File Format").
const databaseMagic = "SQLite format 3\x00"

// openFiles finds out what is at a path: a single file that begins like a database (journals may be
// beside it), a folder with manifests/ and metadata/ (a bundle), the file of a template, or a file-based
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
		return advice.New(advice.Input, "name the folder with the catalog's files", "the folder is empty")
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
	case entries[0].Type().IsRegular() && belongTo(entries[0].Name(), entries[1:]):
		database, err := isDatabase(s.fsys, entries[0].Name())
		if err != nil {
			return err
		}
		if database {
			s.Kind, s.file = SQLite, entries[0].Name()
			break
		}
		if len(entries) > 1 {
			break
		}
		isTemplate, err := s.readTemplate(path, entries[0].Name())
		if isTemplate {
			s.Kind = Template
		}
		return err
	}
	return nil
}

// belongTo reports whether the names of all entries begin with the name of a database and a dash, as
// those of its journals do.
func belongTo(database string, entries []fs.DirEntry) bool {
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || !strings.HasPrefix(e.Name(), database+"-")
	})
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
