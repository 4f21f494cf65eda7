package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The header of a database (sqlite.org, "Database File Format", 1.3).
const (
	magic      = "SQLite format 3\x00"
	headerSize = 100
	walVersion = 2
)

// check looks at a database's header, and for what stands beside it, before
// SQLite does: SQLite would give less than all of a database in WAL mode, and
// would not say what is wrong with other files.
func check(path string) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	header := make([]byte, headerSize)
	n, err := io.ReadFull(f, header)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	switch {
	case n == 0:
		return errors.New("the file is empty")
	case n < len(magic) || string(header[:len(magic)]) != magic:
		return errors.New("the file is not an SQLite database: it begins otherwise")
	case n < headerSize:
		return fmt.Errorf("the database is cut off: it has %d bytes", n)
	case header[18] == walVersion || header[19] == walVersion:
		return errors.New("the database is in WAL mode, so that a part of it may be in another file; put it together with: sqlite3 FILE 'PRAGMA journal_mode=DELETE'")
	}
	if size := stated(header); size > info.Size() {
		return fmt.Errorf("the database is cut off: it has %d of %d bytes", info.Size(), size)
	}
	return beside(path)
}

// stated is the size of the database as its header says it, 0 if it does not.
func stated(header []byte) int64 {
	if !bytes.Equal(header[24:28], header[92:96]) {
		return 0 // written by a version of SQLite that did not keep it
	}
	page := int64(binary.BigEndian.Uint16(header[16:]))
	if page == 1 {
		page = 64 << 10
	}
	return page * int64(binary.BigEndian.Uint32(header[28:]))
}

// beside refuses a database beside which something is left of writing to it.
func beside(path string) error {
	for _, suffix := range []string{"-journal", "-wal"} {
		info, err := os.Stat(path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.Size() > 0:
			return fmt.Errorf("%s%s stands beside the database: it is being written to, or was not closed; open it once with: sqlite3 %[1]s 'PRAGMA journal_mode=DELETE'", path, suffix)
		}
	}
	return nil
}
