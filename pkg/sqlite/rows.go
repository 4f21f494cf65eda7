package sqlite

import (
	"database/sql"
	"errors"
)

// A scanner is a row of a result.
type scanner interface {
	Scan(into ...any) error
}

// scan calls f with each row of a result, and closes it.
func scan(rows *sql.Rows, f func(row scanner) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
