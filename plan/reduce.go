package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// LeftOut is a package that was taken out of a catalog whole, since images that
// its bundles name could not be had.
type LeftOut struct {
	Package string `json:"package"`
	// Images are the sources of those images, sorted.
	Images []string `json:"images"`
}

// Reduced is a plan without the packages whose images are missing.
type Reduced struct {
	Plan *Plan
	// Catalogs are the names of those that were built again; what each lacks now
	// stands in the plan.
	Catalogs []string
	// Kept says why a catalog that names missing images was not built again, by
	// its name: nothing would be left of it, or its content cannot be read.
	Kept map[string]string
}

// Reduce is the plan with its catalogs built again, each without the packages
// that name a missing image. What only those packages name goes from the plan,
// missing images among it; what the configuration lists stays missing. Packages
// that need one that was left out are kept, and a note says what they lack.
//
// The images of the catalogs are read from where the plan has them, and must
// pass OLM's rules again. The same plan gives the same bytes.
func Reduce(ctx context.Context, p *Plan, from From) (*Reduced, error) {
	from = from.once()
	r := &Reduced{Kept: map[string]string{}}
	gone := p.namingMissing()
	read := make([]*reduction, len(p.Catalogs))
	err := each(ctx, len(p.Catalogs), func(ctx context.Context, i int) (err error) {
		c := p.Catalogs[i]
		read[i], err = readForReduction(ctx, c, gone[c.Name()], from)
		return err
	})
	if err != nil {
		return nil, err
	}
	q := *p
	q.Catalogs, q.Notes = slices.Clone(p.Catalogs), slices.Clone(p.Notes)
	var wishes []*wish
	for i, red := range read {
		if len(red.gone) == 0 {
			continue
		}
		c := &q.Catalogs[i]
		reason, err := red.build(ctx, c, from)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			r.Kept[c.Name()] = reason
			red.gone = nil
			continue
		}
		r.Catalogs = append(r.Catalogs, c.Name())
		q.Notes = append(q.Notes, red.notes...)
		wishes = append(wishes, &wish{source: c.Source, kind: CatalogImage, digest: c.Digest, all: true})
	}
	if len(r.Catalogs) == 0 {
		r.Plan = p
		return r, nil
	}
	q.Notes = append(q.Notes, unmet(read)...)
	f := newForest(from.Images)
	found, err := f.resolve(ctx, wishes, Options{}.withDefaults())
	if err != nil {
		return nil, err
	}
	for _, w := range found {
		if w.err != nil {
			return nil, fmt.Errorf("reading the catalog image that was built: %w", w.err)
		}
	}
	slices.Sort(q.Notes)
	q.Notes = slices.Compact(q.Notes)
	r.Plan = &q
	return r, q.exchange(p, r, f)
}

// namingMissing are the packages that name missing images, with these, by
// catalog.
func (p *Plan) namingMissing() map[string]map[string][]string {
	gone := map[string]map[string][]string{}
	for _, m := range p.Missing {
		for _, b := range m.Because {
			if b.Catalog == "" || b.Package == "" {
				continue
			}
			if gone[b.Catalog] == nil {
				gone[b.Catalog] = map[string][]string{}
			}
			gone[b.Catalog][b.Package] = append(gone[b.Catalog][b.Package], m.Source)
		}
	}
	return gone
}

// exchange puts the images of the catalogs that were built again into the place
// of those before, and takes out what only packages name that were left out.
func (p *Plan) exchange(before *Plan, r *Reduced, f *forest) error {
	left := map[Because]bool{} // catalog and package
	catalogs := map[string]Catalog{}
	for _, c := range p.Catalogs {
		if !slices.Contains(r.Catalogs, c.Name()) {
			continue
		}
		catalogs[c.Name()] = c
		for _, l := range c.LeftOut {
			left[Because{Catalog: c.Name(), Package: l.Package}] = true
		}
	}
	still := func(all []Because) []Because {
		return slices.DeleteFunc(slices.Clone(all), func(b Because) bool { return left[Because{Catalog: b.Catalog, Package: b.Package}] })
	}
	built := &Plan{}
	p.Images, p.Missing = []Image{}, nil
	for _, img := range before.Images {
		because := still(img.Because)
		if len(because) == 0 && len(img.Because) > 0 {
			continue
		}
		img.Because = because
		if c, again := catalogs[img.Catalog]; again && img.Kind == CatalogImage {
			img.Digest, img.Tags, img.Size = c.Digest, []string{c.Tag}, 0
			built.Images = append(built.Images, img)
			continue
		}
		p.Images = append(p.Images, img)
	}
	for _, m := range before.Missing {
		if m.Because = still(m.Because); len(m.Because) > 0 {
			p.Missing = append(p.Missing, m)
		}
	}
	if err := f.harvest(built); err != nil {
		return err
	}
	p.unblock(func(b Blocker) bool { return left[Because{Catalog: b.Catalog, Package: b.Package}] })
	p.Notes = slices.Compact(slices.Sorted(slices.Values(append(p.Notes, built.Notes...))))
	p.Images = append(p.Images, built.Images...)
	slices.SortFunc(p.Images, compareImages)
	manifests, blobs := union(before.Manifests, built.Manifests, Manifest.digest), union(before.Blobs, built.Blobs, Blob.digest)
	return p.gather(manifests, blobs)
}

func (m Manifest) digest() digest.Digest { return m.Digest }
func (b Blob) digest() digest.Digest     { return b.Digest }

// union merges two lists that are sorted by digest.
func union[T any](a, b []T, by func(T) digest.Digest) []T {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y T) int { return strings.Compare(string(by(x)), string(by(y))) })
	return slices.CompactFunc(all, func(x, y T) bool { return by(x) == by(y) })
}
