package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// The header of a database (sqlite.org, "Database File Format", 1.3).
const (
	magic      = "SQLite format 3\x00"
	headerSize = 100
	walVersion = 2
)

// A state of a database changes whenever it is written to.
type state struct {
	size     int64
	modified int64            // in nanoseconds; it changes even if a transaction is rolled back
	header   [headerSize]byte // with a counter of transactions
}

// inspect checks that no transaction on a database is unfinished, and returns its state.
func inspect(fsys fs.FS, name string) (s state, err error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() {
		return s, fmt.Errorf("%s is not a regular file", name)
	}
	s.size, s.modified = info.Size(), info.ModTime().UnixNano()
	header, err := head(fsys, name, headerSize)
	if err != nil {
		return s, err
	}
	copy(s.header[:], header)
	if isWAL(header) {
		return s, errWAL
	}
	return s, checkJournals(fsys, name)
}

// head returns the first n bytes of a file, fewer if it is shorter.
func head(fsys fs.FS, name string, n int) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return readHead(f, n)
}

// readHead reads up to n bytes and closes the file.
func readHead(f fs.File, n int) ([]byte, error) {
	begin, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return begin, errors.Join(err, f.Close())
}

// checkJournals returns an error if a journal with content is beside a database that is not in WAL
// mode. A rollback journal that begins with a zero is one of a finished transaction (journal_mode
// PERSIST), or one that is not needed to roll back yet.
func checkJournals(fsys fs.FS, name string) error {
	for suffix, problem := range map[string]string{
		"-journal": "a program is writing to the database or was ended while it did; end it, and let SQLite roll back the transaction: sqlite3 %s 'PRAGMA quick_check'",
		"-wal":     "the database is not in WAL mode, so the file belongs to another one; move it away from %s",
	} {
		open, err := isOpen(fsys, name+suffix)
		if err != nil {
			return err
		}
		if open {
			return fmt.Errorf("%s%s exists; "+problem, name, suffix, name)
		}
	}
	return nil
}

// isOpen reports whether there is a journal with content.
func isOpen(fsys fs.FS, name string) (bool, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return true, nil
	}
	begin, err := head(fsys, name, 1)
	return len(begin) > 0 && begin[0] != 0, err
}

var errWAL = errors.New("the database is in WAL mode, so a part of it may be in another file; merge it with: sqlite3 FILE 'PRAGMA journal_mode=DELETE'")

func isWAL(header []byte) bool {
	return len(header) == headerSize && (header[18] == walVersion || header[19] == walVersion)
}

// check reads a database's header before SQLite does, which would return only a part of a database
// in WAL mode, and would not explain what is wrong with other files.
func check(path string) error {
	f, info, err := regular.OpenPath(path)
	if err != nil {
		return err
	}
	header, err := readHead(f, headerSize)
	if err != nil {
		return err
	}
	switch {
	case len(header) == 0:
		return errors.New("the file is empty")
	case !bytes.HasPrefix(header, []byte(magic)):
		return errors.New("the file is not an SQLite database")
	case len(header) < headerSize:
		return fmt.Errorf("the database is truncated: it has %d bytes", len(header))
	case isWAL(header):
		return errWAL
	}
	if size := headerBytes(header); size > info.Size() {
		return fmt.Errorf("the database is truncated: it has %d of %d bytes", info.Size(), size)
	}
	return nil
}

// headerBytes returns the size of the database according to its header, 0 if unknown.
func headerBytes(header []byte) int64 {
	if !bytes.Equal(header[24:28], header[92:96]) {
		return 0 // written by a version of SQLite that did not update it
	}
	page := int64(binary.BigEndian.Uint16(header[16:]))
	if page == 1 {
		page = 64 << 10
	}
	return page * int64(binary.BigEndian.Uint32(header[28:]))
}
