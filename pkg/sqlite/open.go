package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// An index is an open database. The tables are copied without the manifests into sorted temporary
// tables, to read them by package.
type index struct {
	db   *sql.DB
	conn *sql.Conn
}

// open opens a database, and checks that it is intact and an index.
func open(ctx context.Context, path string) (*index, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&immutable=1"}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	x := &index{db: sql.OpenDB(connector)}
	if err := x.prepare(ctx); err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

// prepare opens a connection, which owns limits and temporary tables.
func (x *index) prepare(ctx context.Context) (err error) {
	if x.conn, err = x.db.Conn(ctx); err != nil {
		return err
	}
	if err := x.limit(); err != nil {
		return err
	}
	for _, pragma := range []string{
		"trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "ignore_check_constraints = ON", "temp_store = FILE",
	} {
		if _, err := x.conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	tables, err := x.tables(ctx)
	if err != nil {
		return err
	}
	if err := x.checkPages(ctx); err != nil {
		return err
	}
	return x.sort(ctx, tables)
}

// limit sets what SQLite recommends for an untrusted database (sqlite.org/security.html).
func (x *index) limit() error {
	for id, most := range map[int]int{
		lib.SQLITE_LIMIT_LENGTH:              maxManifests + 1<<20,
		lib.SQLITE_LIMIT_SQL_LENGTH:          100_000,
		lib.SQLITE_LIMIT_COLUMN:              100,
		lib.SQLITE_LIMIT_EXPR_DEPTH:          50,
		lib.SQLITE_LIMIT_COMPOUND_SELECT:     10,
		lib.SQLITE_LIMIT_VDBE_OP:             25_000,
		lib.SQLITE_LIMIT_FUNCTION_ARG:        8,
		lib.SQLITE_LIMIT_ATTACHED:            0,
		lib.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
		lib.SQLITE_LIMIT_TRIGGER_DEPTH:       1,
		lib.SQLITE_LIMIT_WORKER_THREADS:      0,
	} {
		if _, err := sqlite.Limit(x.conn, id, most); err != nil {
			return err
		}
	}
	return nil
}

// checkPages checks that every page is used exactly once. Reading a damaged database could
// otherwise loop forever.
func (x *index) checkPages(ctx context.Context) error {
	var found string
	if err := x.conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("the database is damaged; download it again: %.500s", found)
	}
	return nil
}

func (x *index) close() error {
	var err error
	if x.conn != nil {
		err = x.conn.Close()
	}
	return errors.Join(err, x.db.Close())
}

// explained describes SQLite's error codes.
func explained(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	wrong := (*sqlite.Error)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	switch wrong.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT:
		return fmt.Errorf("the database is damaged; download it again: %w", err)
	case lib.SQLITE_TOOBIG:
		return fmt.Errorf("a value in the database exceeds the limit of %d bytes: %w", maxManifests, err)
	case lib.SQLITE_FULL, lib.SQLITE_IOERR:
		return fmt.Errorf("using the database or a temporary file: %w", err)
	}
	return err
}
