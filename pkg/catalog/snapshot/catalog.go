package snapshot

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Catalog is what reading the image with these options would give. The error is
// ErrNotHeld (by errors.Is) if something of that is not in the snapshot; after
// any other error the snapshot is of no use.
func (s *Snapshot) Catalog(options catalog.Options) (*catalog.Catalog, error) {
	c, err := s.catalog(options)
	if err != nil {
		return nil, fmt.Errorf("reading the snapshot of catalog %s: %w", s.index.Root, err)
	}
	return c, nil
}

func (s *Snapshot) catalog(options catalog.Options) (*catalog.Catalog, error) {
	wants := func(pkg string) bool { return pkg == "" || options.Keep == nil || options.Keep(pkg) }
	if err := s.holds(options, wants); err != nil {
		return nil, err
	}
	wanted := []held{{"", s.index.Others}}
	for _, p := range s.index.Packages {
		if wants(p.Name) {
			wanted = append(wanted, p)
		}
	}
	metas, err := s.all(wanted)
	if err != nil {
		return nil, err
	}
	c, err := catalog.New(metas)
	if err != nil {
		return nil, err
	}
	c.Names = slices.Clone(s.index.Names)
	if options.Outline {
		c.Outlines, err = s.outlines(wants)
	}
	return c, err
}

// holds reports, as an error, that something is missing.
func (s *Snapshot) holds(options catalog.Options, wants func(string) bool) error {
	if s.index.Whole {
		return nil
	}
	if options.Keep == nil {
		return ErrNotHeld
	}
	for _, name := range s.index.Names {
		if wants(name) && !s.held(name) {
			return fmt.Errorf("package %s: %w", name, ErrNotHeld)
		}
	}
	if options.Outline && s.index.Outlines == nil {
		return fmt.Errorf("outlines: %w", ErrNotHeld)
	}
	return nil
}

func (s *Snapshot) held(name string) bool {
	_, ok := slices.BinarySearchFunc(s.index.Packages, name, func(p held, name string) int { return strings.Compare(p.Name, name) })
	return ok
}

// outlines are those of the packages that are not wanted: some are made of the
// outlines' own objects, some of the packages' whole ones.
func (s *Snapshot) outlines(wants func(string) bool) ([]*catalog.Package, error) {
	var outlines []*catalog.Package
	if s.index.Outlines != nil {
		metas, err := s.metas(*s.index.Outlines)
		if err != nil {
			return nil, err
		}
		if outlines, err = catalog.Outline(metas); err != nil {
			return nil, err
		}
	}
	outlines = slices.DeleteFunc(outlines, func(p *catalog.Package) bool { return wants(p.Name) || s.held(p.Name) })
	for _, p := range s.index.Packages {
		if wants(p.Name) {
			continue
		}
		metas, err := s.of(p)
		if err != nil {
			return nil, err
		}
		more, err := catalog.Outline(metas)
		if err != nil {
			return nil, err
		}
		outlines = append(outlines, more...)
	}
	slices.SortStableFunc(outlines, func(a, b *catalog.Package) int { return strings.Compare(a.Name, b.Name) })
	return outlines, nil
}

// all reads the objects of packages, several at a time.
func (s *Snapshot) all(packages []held) ([]*catalog.Meta, error) {
	parts := make([][]*catalog.Meta, len(packages))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range packages {
		group.Go(func() (err error) {
			parts[i], err = s.of(p)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(parts...), nil
}

// of reads the objects of a package; those that belong to none have an empty name.
func (s *Snapshot) of(p held) ([]*catalog.Meta, error) {
	metas, err := s.metas(p.frame)
	if err != nil {
		return nil, fmt.Errorf("objects of package %q: %w", p.Name, err)
	}
	for _, m := range metas {
		if m.Package != p.Name {
			return nil, fmt.Errorf("among the objects of package %q is one of %q", p.Name, m.Package)
		}
	}
	return metas, nil
}
