package build

import (
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// Identify finds the package of installed operators that do not name it, in the catalogs of a configuration: those
// that it selects, and all others. Without such operators, it reads nothing.
func Identify(ctx context.Context, cfg *imageset.Config, sources Sources, operators []installed.Operator) ([]installed.Operator, error) {
	return identify(ctx, sources, cfg.Mirror.Operators, operators)
}

func identify(ctx context.Context, sources Sources, ops []imageset.Operator, operators []installed.Operator) ([]installed.Operator, error) {
	if !installed.Unidentified(operators) {
		return operators, nil
	}
	catalogs, err := collect(ctx, len(ops), maxCatalogs, func(ctx context.Context, i int) (*catalog.Catalog, error) {
		r := &selectedCatalog{op: ops[i]}
		if err := r.open(ctx, sources); err != nil {
			return nil, err
		}
		none := func(string) bool { return false }
		return r.src.Read(ctx, catalog.Options{Keep: none, Outline: true, Pack: true})
	})
	if err != nil {
		return nil, err
	}
	return installed.Identify(operators, catalogs...), nil
}

// installedEntries returns installed operators as a configuration has them, and notes on those whose package is unknown.
func installedEntries(operators []installed.Operator) (entries []imageset.Installed, notes []string) {
	for _, o := range operators {
		if o.Package != "" {
			entries = append(entries, o.Entry())
			continue
		}
		notes = append(notes, fmt.Sprintf("%s: no update path is kept from it: its package is unknown, and no catalog of the configuration, or more than one package, has bundle %s; add its Subscription to the files about clusters", o.Origin, o.Bundle))
	}
	return entries, notes
}
