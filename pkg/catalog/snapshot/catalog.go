package snapshot

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Catalog returns what reading the image with these options would return. The error is ErrNotStored
// (by errors.Is) if the snapshot does not contain all of that; after any other error the snapshot
// is unusable.
func (s *Snapshot) Catalog(options catalog.Options) (*catalog.Catalog, error) {
	c, err := s.catalog(options)
	if err != nil {
		return nil, fmt.Errorf("reading the snapshot of catalog %s: %w", s.index.Root, err)
	}
	return c, nil
}

func (s *Snapshot) catalog(options catalog.Options) (*catalog.Catalog, error) {
	wants := func(pkg string) bool { return pkg == "" || options.Keep == nil || options.Keep(pkg) }
	if err := s.check(options, wants); err != nil {
		return nil, err
	}
	requested := []storedPackage{{"", s.index.Others}}
	for _, p := range s.index.Packages {
		if wants(p.Name) {
			requested = append(requested, p)
		}
	}
	c, err := s.all(requested, options.Pack)
	if err != nil {
		return nil, err
	}
	c.Names = slices.Clone(s.index.Names)
	if options.Outline {
		c.Outlines, err = s.outlines(wants)
	}
	return c, err
}

// check returns an error if something is missing.
func (s *Snapshot) check(options catalog.Options, wants func(string) bool) error {
	if s.index.Complete {
		return nil
	}
	if options.Keep == nil {
		return ErrNotStored
	}
	for _, name := range s.index.Names {
		if wants(name) && !s.stored(name) {
			return fmt.Errorf("package %s: %w", name, ErrNotStored)
		}
	}
	if options.Outline && s.index.Outlines == nil {
		return fmt.Errorf("outlines: %w", ErrNotStored)
	}
	return nil
}

func (s *Snapshot) stored(name string) bool {
	_, ok := slices.BinarySearchFunc(s.index.Packages, name, func(p storedPackage, name string) int { return strings.Compare(p.Name, name) })
	return ok
}

// outlines returns the outlines of the excluded packages: from the objects for outlines, or from
// the complete packages.
func (s *Snapshot) outlines(wants func(string) bool) ([]*catalog.Package, error) {
	var outlines []*catalog.Package
	if s.index.Outlines != nil {
		metas, err := list(s.metas(*s.index.Outlines))
		if err != nil {
			return nil, err
		}
		if outlines, err = catalog.Outline(metas); err != nil {
			return nil, err
		}
	}
	outlines = slices.DeleteFunc(outlines, func(p *catalog.Package) bool { return wants(p.Name) || s.stored(p.Name) })
	for _, p := range s.index.Packages {
		if wants(p.Name) {
			continue
		}
		metas, err := list(s.of(p))
		if err != nil {
			return nil, err
		}
		more, err := catalog.Outline(metas)
		if err != nil {
			return nil, err
		}
		outlines = append(outlines, more...)
	}
	elements.Sort(outlines, func(a, b *catalog.Package) int { return strings.Compare(a.Name, b.Name) })
	return outlines, nil
}

// all reads the objects of packages, several at a time.
func (s *Snapshot) all(packages []storedPackage, pack bool) (*catalog.Catalog, error) {
	r := catalog.NewReader(catalog.Options{Pack: pack})
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range packages {
		group.Go(func() error { return r.Objects(p.Name, s.of(p)) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return r.Catalog()
}

// of reads the objects of a package; the name is empty for those that belong to no package.
func (s *Snapshot) of(p storedPackage) iter.Seq2[*catalog.Meta, error] {
	return func(yield func(*catalog.Meta, error) bool) {
		for m, err := range s.metas(p.frame) {
			switch {
			case err != nil:
				err = fmt.Errorf("objects of package %q: %w", p.Name, err)
			case m.Package != p.Name:
				err = fmt.Errorf("the objects of package %q include one of %q", p.Name, m.Package)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// list returns all objects.
func list(metas iter.Seq2[*catalog.Meta, error]) ([]*catalog.Meta, error) {
	var all []*catalog.Meta
	for m, err := range metas {
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
