package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/cluster/operator"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
)

// archived reports whether the catalogs to check are those of an archive.
func (o *Options) archived() bool {
	return slices.ContainsFunc(o.Catalogs, func(name string) bool { return strings.HasPrefix(name, env.ArchiveScheme) })
}

// openArchive opens the archive whose catalogs are checked. The caller closes c.archive.
func (c *operatorCheck) openArchive(ctx context.Context) error {
	o := c.options
	if slices.ContainsFunc(o.Catalogs, func(name string) bool { return !strings.HasPrefix(name, env.ArchiveScheme) }) {
		return env.InputHint("check them one after the other", "an archive cannot be checked together with other catalogs")
	}
	s := &operator.Operators{Sources: c.sources, Close: func() {}}
	if err := operator.OpenArchived(ctx, c.env, s, &operator.InstallOptions{Read: o.Read}, o.Catalogs); err != nil {
		return err
	}
	if len(s.Catalogs) == 0 {
		s.Close()
		return env.Inputf("the archive has no catalogs")
	}
	c.archive = s
	return nil
}

// selectArchived reads the catalogs of the archive, with the packages that only reports as a whole.
func (c *operatorCheck) selectArchived(ctx context.Context, only func(pkg string) bool) (*build.Selection, error) {
	s := &build.Selection{}
	for _, from := range c.archive.Catalogs {
		k, err := c.archive.Read(ctx, from.At, catalog.Options{Keep: only, Outline: true})
		if err != nil {
			return nil, fmt.Errorf("reading catalog %s of the archive: %w", from.Source, err)
		}
		s.Catalogs = append(s.Catalogs, build.Unfiltered(from.Source, k))
	}
	return s, nil
}

// archivedBundles returns the reader of the bundles that a catalog of the archive names.
func (c *operatorCheck) archivedBundles(catalogName string) bundleReader {
	i := slices.IndexFunc(c.archive.Catalogs, func(k operator.Catalog) bool { return k.Source == catalogName })
	from := &c.archive.Catalogs[i]
	return func(ctx context.Context, name string) (*catalog.Bundle, error) {
		at, err := from.Image(name)
		if err != nil {
			return nil, err
		}
		b, err := build.ReadBundle(ctx, operator.PinnedReader{Reader: c.archive.Images, Root: at.Digest}, at.Name)
		if err != nil {
			return nil, fmt.Errorf("reading its image %s: %w", name, err)
		}
		return b, nil
	}
}
