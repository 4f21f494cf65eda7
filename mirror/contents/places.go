package contents

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// An opened is what the places of Options have, open for reading.
type opened struct {
	env      *env.Env
	sources  *workspace.Sources
	catalogs []openCatalog
	stocks   []placedStock
	found    []*foundMirror
	at       *presence // nil unless it was asked for
	sizes    bool
	wanted   []wantedAnswer
	close    []func()
}

// A placedStock is the stock of a plan at a place.
type placedStock struct {
	*stock
	place string // as the user names it
	// named returns the reference of an image at a mirror; nil for an archive.
	named func(repository string) string
}

// An openCatalog is a catalog that can be read.
type openCatalog struct {
	name   string // of its source
	place  string // the mirror or the archive; "" for a catalog by itself
	read   listing.ReadFunc
	stock  *placedStock  // nil for a catalog by itself
	of     *plan.Catalog // of the stock
	images image.Reader  // of the stock
	found  *foundMirror  // the mirror without records that has it, or nil
}

// open opens all places. The caller closes what it returns.
func (o *Options) open(ctx context.Context, object string, planned bool) (_ *opened, err error) {
	if err := o.check(object, planned); err != nil {
		return nil, err
	}
	e, done := o.Env.OrDefault()
	in := &opened{env: e, sizes: o.Sizes, close: []func(){done}}
	defer func() {
		if err != nil {
			in.Close()
		}
	}()
	if in.sources, err = workspace.OpenSources(e, env.WorkspaceDir(o.Workspace)); err != nil {
		return nil, err
	}
	in.close = append(in.close, func() { workspace.CloseSources(e, in.sources) })
	if err := in.openCatalogs(ctx, o); err != nil {
		return nil, err
	}
	for _, mirror := range o.Mirrors {
		if err := in.openMirror(ctx, o, mirror, object); err != nil {
			return nil, err
		}
	}
	if len(o.Archives) > 0 {
		if err := in.openArchive(ctx, o); err != nil {
			return nil, err
		}
	}
	if o.At != "" {
		t, plans, err := recordedPlans(ctx, e, o, o.At)
		if err != nil {
			return nil, err
		}
		if len(plans) == 0 {
			return nil, env.InputHint("run gantry mirror to it, which writes one", "%s has no record of an image set", t)
		}
		in.at = newPresence(plans)
	}
	return in, nil
}

// Close closes what was opened.
func (in *opened) Close() {
	for _, do := range slices.Backward(in.close) {
		do()
	}
}

// openCatalogs adds the catalogs that are named by themselves, each once.
func (in *opened) openCatalogs(ctx context.Context, o *Options) error {
	names := slices.Clone(o.Catalog)
	if o.Config != "" {
		s := selection.Selection{Config: o.Config}
		selected, err := s.LoadConfig(in.env)
		if err != nil {
			return err
		}
		if len(selected.Config.Mirror.Operators) == 0 {
			return env.InputHint("name one with Options.Catalog", "%s names no catalog", o.Config)
		}
		for _, op := range selected.Config.Mirror.Operators {
			names = append(names, op.Catalog)
		}
	}
	if o.OpenShift != "" {
		found, err := listing.Catalogs(ctx, listing.CatalogsOptions{Env: in.env, Workspace: o.Workspace, Version: o.OpenShift})
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			in.catalogs = append(in.catalogs, openCatalog{name: name, read: func(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
				return in.sources.Read(ctx, name, options)
			}})
		}
	}
	return nil
}

// recordedPlans returns the plans that the records of a mirror have, sorted by image set; none if it has no records.
func recordedPlans(ctx context.Context, e *env.Env, o *Options, mirror string) (*site.RegistryDestination, []*plan.Plan, error) {
	t, err := site.OpenMirror(e, mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, nil, err
	}
	plans, revisions, err := t.RecordedPlans(ctx)
	for i := range revisions {
		if c := &revisions[i].Content; c.Missing > 0 {
			lost := env.Number(c.Missing, "image", "images")
			if c.Withheld > 0 {
				lost += " and " + env.Number(c.Withheld, "catalog or release", "catalogs and releases") + " that name them"
			}
			e.Warnf("the last run of the image set %q left out %s at %s: they count as present, and gantry verify names them", revisions[i].Name, lost, t)
		}
	}
	return t, plans, err
}

func (in *opened) openMirror(ctx context.Context, o *Options, mirror, object string) error {
	t, plans, err := recordedPlans(ctx, in.env, o, mirror)
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		return in.openFound(ctx, o, t, mirror, object)
	}
	images := site.NewMirrorImages(t.Client)
	for _, p := range plans {
		named := func(repository string) string { return t.Repository(repository).String() }
		if err := in.add(mirror, p, nil, images, named); err != nil {
			return err
		}
	}
	return nil
}

func (in *opened) openArchive(ctx context.Context, o *Options) error {
	have, err := open.Archive(open.Options{Env: in.env, Folders: o.Archives, Sequence: o.Sequence, Read: o.Read})
	if err != nil {
		return err
	}
	in.close = append(in.close, func() { _ = have.Close() }) // only read from
	open.Observe(in.env.Observer, have)
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		return err
	}
	return in.add(o.Archives[0], p, have, have, nil)
}

// add adds the stock of a plan, and the catalogs in it. images reads them.
func (in *opened) add(place string, p *plan.Plan, have *archive.Archive, images image.Reader, named func(string) string) error {
	s, err := newStock(p, have)
	if err != nil {
		return err
	}
	placed := placedStock{s, place, named}
	in.stocks = append(in.stocks, placed)
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		at := c.Repository + ":" + c.Tag
		if named != nil {
			at = named(c.Repository) + ":" + c.Tag
		}
		from := in.sources.Catalogs()
		from.Images, from.Tags = pinned{images, c.Digest}, nil
		in.catalogs = append(in.catalogs, openCatalog{name: c.Name(), place: place, stock: &placed, of: c, images: images, read: func(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
			src, err := source.Open(ctx, from, at)
			if err != nil {
				return nil, adviseAbsent(err, place)
			}
			read, err := src.Read(ctx, options)
			return read, adviseAbsent(err, place)
		}})
	}
	return nil
}

// adviseAbsent adds a hint to the error of a catalog whose image is not there.
func adviseAbsent(err error, place string) error {
	if err == nil || advice.Hint(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	return advice.Wrap(advice.KindOf(err), err, "gantry verify "+place+" shows what is missing")
}

// pinned reads the image with a digest wherever no digest is given.
type pinned struct {
	image.Reader
	digest digest.Digest
}

// Manifest implements image.Reader.
func (p pinned) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	d = cmp.Or(d, p.digest)
	return p.Reader.Manifest(ctx, from, d)
}
