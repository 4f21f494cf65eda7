package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// maxPackages is the maximum number of packages; the largest public indexes have 600.
const maxPackages = 100_000

// A pkg is a row of table package.
type pkg struct{ name, defaultChannel string }

// stream calls each for the objects of all packages.
func (x *index) stream(ctx context.Context, each func(*catalog.Meta) error) error {
	if err := x.checkEntries(ctx); err != nil {
		return err
	}
	packages, err := x.packages(ctx)
	if err != nil {
		return err
	}
	for _, p := range packages {
		if err := x.onePackage(ctx, p, each); err != nil {
			return fmt.Errorf("package %s: %w", p.name, err)
		}
	}
	return nil
}

// checkEntries checks that the packages and channels of all entries exist.
func (x *index) checkEntries(ctx context.Context) error {
	var pkg, channel string
	err := x.conn.QueryRowContext(ctx, `
		SELECT coalesce(e.package, ''), coalesce(e.channel, '') FROM temp.entries e
		WHERE NOT EXISTS (SELECT 1 FROM temp.channels c WHERE c.package = e.package AND c.name = e.channel)
			OR NOT EXISTS (SELECT 1 FROM temp.packages p WHERE p.name = e.package)
		LIMIT 1`).Scan(&pkg, &channel)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("the database is damaged; download it again: entries of channel %q of package %q without such a channel or package", channel, pkg)
}

func (x *index) packages(ctx context.Context) ([]pkg, error) {
	rows, err := x.conn.QueryContext(ctx,
		"SELECT name, coalesce(max(channel), '') FROM temp.packages WHERE name IS NOT NULL GROUP BY name ORDER BY name")
	if err != nil {
		return nil, err
	}
	var all []pkg
	err = scan(rows, func(row scanner) error {
		var p pkg
		if err := row.Scan(&p.name, &p.defaultChannel); err != nil {
			return err
		}
		if len(all) == maxPackages {
			return fmt.Errorf("the index has more than %d packages", maxPackages)
		}
		all = append(all, p)
		return text(p.name, p.defaultChannel)
	})
	if err == nil && len(all) == 0 {
		err = errors.New("the index has no packages")
	}
	return all, err
}

// text returns an error for names that are not UTF-8, which JSON cannot represent.
func text(names ...string) error {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("the database is damaged; download it again: the name %.100q is not UTF-8", name)
		}
	}
	return nil
}
