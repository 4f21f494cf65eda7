package sqlite

import (
	"context"
	"slices"
)

// The sorts of facts about a bundle.
const (
	factProperty = iota + 1
	factDependency
	factImage
)

// sort copies the tables, without the manifests, into indexed temporary tables, since the original
// indexes do not help. SQLite keeps them in an unnamed file.
func (x *index) sort(ctx context.Context, tables []string) error {
	properties := "SELECT operatorbundle_name, ?, type, value FROM main.properties"
	if !slices.Contains(tables, "properties") {
		properties = "SELECT operatorbundle_name, ?, 'olm.gvk', json_object('group', group_name, 'kind', kind, 'version', version) FROM main.api_provider"
	}
	dependencies := "SELECT operatorbundle_name, ?, type, value FROM main.dependencies"
	if !slices.Contains(tables, "dependencies") {
		dependencies = "SELECT operatorbundle_name, ?, 'olm.gvk', json_object('group', group_name, 'kind', kind, 'version', version) FROM main.api_requirer"
	}
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{"CREATE TEMP TABLE packages AS SELECT name, default_channel AS channel FROM main.package", nil},
		{"CREATE INDEX temp.by_package ON packages (name)", nil},
		{"CREATE TEMP TABLE channels AS SELECT DISTINCT package_name AS package, name, head_operatorbundle_name AS head FROM main.channel", nil},
		{"CREATE INDEX temp.by_channel ON channels (package, name)", nil},
		{"CREATE TEMP TABLE entries AS SELECT package_name AS package, channel_name AS channel, operatorbundle_name AS bundle, entry_id AS id, replaces, depth FROM main.channel_entry", nil},
		{"CREATE INDEX temp.by_entry ON entries (package, id)", nil},
		{"CREATE TEMP TABLE bundles AS SELECT name, rowid AS row, bundlepath AS image, version, skiprange, octet_length(bundle) AS size FROM main.operatorbundle", nil},
		{"CREATE INDEX temp.by_name ON bundles (name)", nil},
		{"CREATE TEMP TABLE facts (bundle, sort INTEGER, type, value)", nil},
		{"INSERT INTO temp.facts " + properties, []any{factProperty}},
		{"INSERT INTO temp.facts " + dependencies, []any{factDependency}},
		{"INSERT INTO temp.facts SELECT operatorbundle_name, ?, 'image', image FROM main.related_image", []any{factImage}},
		{"CREATE INDEX temp.by_bundle ON facts (bundle, sort, type)", nil},
	} {
		if _, err := x.conn.ExecContext(ctx, step.statement, step.args...); err != nil {
			return err
		}
	}
	return nil
}
