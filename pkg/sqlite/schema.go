package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A table is a table that an index must have.
type table struct {
	name    string
	columns []string
	// instead is the table that older databases have for it.
	instead *table
}

// required returns the tables of an index, in the order in which they are checked.
func required() []table {
	provider := table{name: "api_provider", columns: []string{"group_name", "version", "kind", "operatorbundle_name"}}
	requirer := table{name: "api_requirer", columns: provider.columns}
	values := []string{"type", "value", "operatorbundle_name"}
	return []table{
		{name: "package", columns: []string{"name", "default_channel"}},
		{name: "channel", columns: []string{"name", "package_name", "head_operatorbundle_name"}},
		{name: "channel_entry", columns: []string{"entry_id", "channel_name", "package_name", "operatorbundle_name", "replaces", "depth"}},
		{name: "operatorbundle", columns: []string{"name", "bundle", "bundlepath", "version", "skiprange"}},
		{name: "related_image", columns: []string{"image", "operatorbundle_name"}},
		{name: "dependencies", columns: values, instead: &requirer},
		{name: "properties", columns: values, instead: &provider},
	}
}

// tables checks that the database has the tables of an index. It returns the names of all its
// tables.
func (x *index) tables(ctx context.Context) ([]string, error) {
	// A virtual table has no root page; its content is computed by code.
	rows, err := x.conn.QueryContext(ctx, "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT 1000")
	if err != nil {
		return nil, err
	}
	var names []string
	err = scan(rows, func(row scanner) error {
		var name string
		var root int64
		if err := row.Scan(&name, &root); err != nil {
			return err
		}
		if root <= 0 {
			return fmt.Errorf("the database is not an operator index: table %.100q is virtual", name)
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("the database is empty: it has no tables")
	}
	for _, t := range required() {
		if t.instead != nil && !slices.Contains(names, t.name) {
			t = *t.instead
		}
		if !slices.Contains(names, t.name) {
			if t.name == "package" {
				return nil, fmt.Errorf("the database is not an operator index: it has no table %s", t.name)
			}
			return nil, x.outdated(ctx, names, "has no table "+t.name)
		}
		columns, err := x.columns(ctx, t.name)
		if err != nil {
			return nil, err
		}
		for _, c := range t.columns {
			if !slices.Contains(columns, c) {
				return nil, x.outdated(ctx, names, "has no column "+c+" in table "+t.name)
			}
		}
	}
	return names, nil
}

// columns returns the stored columns of a table, without computed ones.
func (x *index) columns(ctx context.Context, table string) ([]string, error) {
	rows, err := x.conn.QueryContext(ctx, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 LIMIT 1000", table)
	if err != nil {
		return nil, err
	}
	var names []string
	return names, scan(rows, func(row scanner) error {
		var name string
		err := row.Scan(&name)
		names = append(names, strings.ToLower(name))
		return err
	})
}

// outdated returns the error for a database that an old opm wrote.
func (x *index) outdated(ctx context.Context, tables []string, missing string) error {
	version := "an unknown version"
	if slices.Contains(tables, "schema_migrations") {
		var n int64
		if err := x.conn.QueryRowContext(ctx, "SELECT max(version) FROM schema_migrations").Scan(&n); err == nil {
			version = fmt.Sprintf("version %d", n)
		}
	}
	return fmt.Errorf("the database %s: its schema has %s, but version 6 or higher is required; "+
		"convert it with opm v1.73.0 or older: run opm render FILE > DIR/catalog.json, and use that folder", missing, version)
}
