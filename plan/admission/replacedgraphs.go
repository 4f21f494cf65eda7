package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/snapshot"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A publishedCatalog is the catalog that a destination has under the name of a new one.
type publishedCatalog struct {
	at     string // for people
	digest digest.Digest
	images pinnedImage // where it can be read
	// keep is set if the graph of the new catalog is kept for the next run even if it replaces nothing: that run
	// cannot read an archive, and need not read a registry.
	keep bool
	// otherSource is set if it is known to come from another repository than the new one.
	otherSource bool
}

// published returns the catalog that the destination has under the name of c; nil if destinations of this kind
// are not compared.
func (r *ReplacedReader) published(ctx context.Context, p *plan.Plan, c plan.Catalog) (*publishedCatalog, error) {
	s := r.Session
	switch t := r.To.(type) {
	case *site.RegistryDestination:
		ref := t.InMirror(c.Repository).WithTag(c.Tag)
		desc, ok, err := t.Client.ManifestExists(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("reading the published catalog: %w", err)
		}
		if !ok {
			desc.Digest = ""
		}
		other, err := otherSource(s, t, p, c, ref)
		mirrored := mirror.NewOrigin(t.Client, s.Sources.Cache)
		return &publishedCatalog{at: ref.String(), digest: desc.Digest, keep: !ok, images: pinnedImage{mirrored, ref.String(), desc.Digest}, otherSource: other}, err
	case *site.ArchiveDestination:
		d, sequence, err := t.Export.Published(c.Repository, c.Tag)
		return &publishedCatalog{
			at: fmt.Sprintf("sequence %d", sequence), digest: d, keep: true,
			images: pinnedImage{s.Sources.Origin, c.Source, d},
		}, err
	}
	return nil, nil
}

// otherSource reports whether the workspace knows that the published catalog has a source in another repository.
func otherSource(s *workspace.Session, t *site.RegistryDestination, p *plan.Plan, c plan.Catalog, ref reference.Reference) (bool, error) {
	mine, others, err := site.Records(s, t, p.Name)
	if err != nil {
		return false, err
	}
	var known []resources.Catalog
	if mine != nil {
		known = mine.Catalogs
	}
	for _, o := range others {
		known = append(known, o.Catalogs...)
	}
	return slices.ContainsFunc(known, func(k resources.Catalog) bool {
		return k.Mirror.Name() == ref.Name() && k.Mirror.Tag == ref.Tag && state.RepositoryOf(k.Source) != state.RepositoryOf(c.Source)
	}), nil
}

// compareWith compares a catalog of the plan with the graph of the published one.
func (r *ReplacedReader) compareWith(ctx context.Context, c plan.Catalog, was snapshot.Graph, before *publishedCatalog, replaced *ReplacedCatalog) error {
	is, err := graphOf(ctx, r.Session, pinnedImage{r.Images, c.Source, c.Digest})
	if err != nil {
		return err
	}
	after := upgrade.Catalog{Name: c.Name(), Kept: is.Catalog}
	replaced.Replacement = upgrade.Replace(was.Catalog, after)
	if len(replaced.Stranded) > 0 && r.Originals {
		if after.Source = r.original(ctx, c, is.Catalog, replaced.Stranded); after.Source != nil {
			replaced.Replacement = upgrade.Replace(was.Catalog, after)
		}
	}
	for _, o := range upgrade.Lost(was.Catalog, after, r.Running) {
		if name := runningName(o); !slices.Contains(replaced.Installed, name) {
			replaced.Installed = append(replaced.Installed, name)
		}
	}
	if !before.otherSource && !was.Created.IsZero() && is.Created.Before(was.Created) && !is.Created.IsZero() {
		replaced.OlderSource = &OlderSource{Before: was.Created, After: is.Created}
	}
	return nil
}

// original returns the packages with stranded bundles as the publisher has them, nil if they cannot be read.
func (r *ReplacedReader) original(ctx context.Context, c plan.Catalog, is *catalog.Catalog, stranded []upgrade.StrandedBundles) *catalog.Catalog {
	if !c.Built {
		return is
	}
	s := r.Session
	affected := map[string]bool{}
	for _, x := range stranded {
		affected[x.Package] = true
	}
	from := s.Sources.Catalogs()
	if c.SourceDigest != "" {
		from.Images = pinnedImage{from.Images, c.Source, c.SourceDigest}
	}
	src, err := source.Open(ctx, from, c.Source)
	var original *catalog.Catalog
	if err == nil {
		original, err = src.Read(ctx, catalog.Options{Keep: func(pkg string) bool { return affected[pkg] }, Pack: true})
	}
	if err != nil {
		s.Env.Logger().Info("reading the original catalog", "ref", c.Source, "error", err)
		return nil
	}
	return original
}

// keepGraph keeps the graph of a catalog of the plan. Without it, the next run tries to read the catalog itself.
func (r *ReplacedReader) keepGraph(ctx context.Context, c plan.Catalog) {
	if kept, err := r.Session.Graphs.Snapshot(c.Digest); err == nil {
		_ = kept.Close() // only opened
		return
	}
	if _, err := graphOf(ctx, r.Session, pinnedImage{r.Images, c.Source, c.Digest}); err != nil {
		r.Session.Env.Logger().Info("keeping the update graph of a catalog", "ref", c.Source, "error", err)
	}
}

// graphOf returns the graph of a catalog image: the one that an earlier run kept, else the one of the
// image itself.
func graphOf(ctx context.Context, s *workspace.Session, from pinnedImage) (snapshot.Graph, error) {
	if kept, err := s.Graphs.Snapshot(from.digest); err == nil {
		g, err := snapshot.ReadGraph(kept)
		if errors.Join(err, kept.Close()) == nil {
			return g, nil
		}
	}
	g, err := readGraph(ctx, from)
	if err == nil {
		// If the graph cannot be kept, the next run reads the image again.
		_ = s.Graphs.KeepSnapshot(from.digest, g.Write)
	}
	return g, err
}

// readGraph reads the graph of a catalog image.
func readGraph(ctx context.Context, images pinnedImage) (snapshot.Graph, error) {
	src, err := source.Open(ctx, source.From{Images: images, Databases: sqlite.Reader{}}, images.digest.String())
	if err != nil {
		return snapshot.Graph{}, err
	}
	read := src.Read
	if src.Kind == source.FileBased && src.Image.IsBuilt() {
		read = src.Image.ReadBuilt
	}
	var g snapshot.Graph
	if g.Catalog, err = read(ctx, catalog.Options{DropText: func(b *catalog.Bundle) {
		b.RelatedImages = nil
		b.Properties = slices.DeleteFunc(slices.Clone(b.Properties), func(p catalog.Property) bool { return !snapshot.IsGraph(p.Type) })
	}}); err != nil {
		return g, err
	}
	g.Created, err = build.CreationTime(ctx, images, images.source)
	return g, err
}

// A pinnedImage reads one image by its digest, whatever its name.
type pinnedImage struct {
	image.Reader
	source string
	digest digest.Digest
}

// Manifest implements image.Reader.
func (p pinnedImage) Manifest(ctx context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	return p.Reader.Manifest(ctx, p.source, cmp.Or(d, p.digest))
}

// Blob implements image.Reader.
func (p pinnedImage) Blob(ctx context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return p.Reader.Blob(ctx, p.source, desc, offset)
}
