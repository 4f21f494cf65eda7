package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// An InputError says that something beside the configuration that it names is
// not there or cannot be read.
type InputError struct{ err error }

func (e *InputError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.err }

// A taken is one catalog of the configuration: what was read of it, and what is
// kept and why.
type taken struct {
	op    imageset.Operator
	entry Catalog
	ref   reference.Reference // zero for oci:// and dir://
	src   *source.Source

	// outline says that the packages that were not read are known by their
	// outlines. installed is what clusters run, of whatever catalog.
	outline   bool
	installed []imageset.Installed
	// required is what other bundles need of this catalog.
	required []filter.Required
	// only, where set, are the packages to read of a catalog that is taken whole;
	// the others are outlined.
	only func(pkg string) bool

	whole  *catalog.Catalog
	result *filter.Result
	notes  []string
}

// take opens a catalog, reads what the configuration wants of it and filters it.
func take(ctx context.Context, from From, r *taken) (*taken, error) {
	if err := r.open(ctx, from); err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r, r.filter()
}

func (r *taken) open(ctx context.Context, from From) error {
	var err error
	if r.ref, err = parseSource(r.op.Catalog); err != nil {
		return &InputError{fmt.Errorf("%s: %w", r.op.Pos, err)}
	}
	r.entry.Source = r.op.Catalog
	if r.op.TargetCatalog != "" || r.op.TargetTag != "" {
		r.entry.Target = strings.TrimSuffix(r.op.TargetCatalog+":"+r.op.TargetTag, ":")
	}
	if name := r.op.TargetCatalogSourceTemplate; name != "" {
		text, err := from.Files.ReadFile(name)
		if err != nil {
			return &InputError{fmt.Errorf("%s: reading targetCatalogSourceTemplate: %w", r.op.Pos, err)}
		}
		r.entry.Template, r.entry.TemplateName = string(text), name
	}
	r.src, err = source.Open(ctx, source.From{
		Images: from.Images, Files: from.Files, Database: from.Database, Snapshots: from.Snapshots,
	}, r.op.Catalog)
	var local *localError
	switch {
	case errors.As(err, &local), err != nil && strings.HasPrefix(r.op.Catalog, dirScheme):
		return &InputError{fmt.Errorf("%s: %w", r.op.Pos, err)}
	case err != nil:
		return err
	case r.src.Kind == source.Bundle:
		return &InputError{fmt.Errorf("%s: reading catalog %s: %w", r.op.Pos, r.op.Catalog, image.ErrBundle)}
	}
	r.entry.SourceDigest = r.src.Digest
	return nil
}

// read reads the packages that are wanted; without a list of packages all are.
func (r *taken) read(ctx context.Context) (err error) {
	options := catalog.Options{Outline: r.outline || r.only != nil && len(r.op.Packages) == 0, Keep: r.only}
	if len(r.op.Packages) > 0 {
		wanted := map[string]bool{}
		for _, p := range r.op.Packages {
			wanted[p.Name] = true
		}
		for _, p := range r.required {
			wanted[p.Package] = true
		}
		options.Keep = func(name string) bool { return wanted[name] }
	}
	r.whole, err = r.src.Read(ctx, options)
	return err
}

// filter selects from what was read, with what clusters have installed of it.
func (r *taken) filter() (err error) {
	op := r.op
	op.Installed = slices.Clone(op.Installed)
	for _, in := range r.installed {
		if r.whole.Package(in.Package) != nil {
			op.Installed = append(op.Installed, in)
		}
	}
	if r.entry.Selection, err = json.Marshal(op); err != nil {
		return fmt.Errorf("writing the selection of %s: %w", op.Catalog, err)
	}
	r.result, err = filter.Apply(r.whole, op, r.required...)
	return err
}

// describe enters what was kept and why.
func (r *taken) describe() {
	for _, note := range r.result.Notes {
		r.notes = append(r.notes, r.entry.Name()+": "+note)
	}
	if r.src.Kind == source.SQLite {
		r.notes = append(r.notes, r.entry.Name()+": it is an SQLite index of the time before OpenShift 4.11; the mirror gets a file-based catalog in its place")
	}
	r.notes = append(r.notes, refused(r.entry.Name(), r.result.Catalog)...)
	for _, q := range r.required {
		r.entry.Required = append(r.entry.Required, Required(q))
		r.notes = append(r.notes, fmt.Sprintf("%s: package %q: channel %q: kept since others need it: %s (for %s)", r.entry.Name(), q.Package, q.Channel, q.Bundle, q.For))
	}
	r.entry.Packages = []Package{}
	for _, p := range r.result.Packages {
		versions := map[string]string{}
		for _, b := range p.Bundles {
			versions[b.Name] = b.Version
		}
		kept := Package{Name: p.Name, DefaultChannel: p.DefaultChannel, Channels: []Channel{}}
		for _, c := range p.Channels {
			ch := Channel{Name: c.Name, Head: c.Head, Bundles: []Bundle{}}
			for _, e := range c.Entries {
				ch.Bundles = append(ch.Bundles, Bundle{Name: e.Name, Version: versions[e.Name], Reason: string(e.Reason), For: e.For})
			}
			kept.Channels = append(kept.Channels, ch)
		}
		r.entry.Packages = append(r.entry.Packages, kept)
	}
}

// collect asks for every image that the filtered catalog names.
func (r *taken) collect(ws *wishes) error {
	for _, p := range r.result.Catalog.Packages {
		for _, b := range p.Bundles {
			if err := ws.addBundle(r.entry.Name(), b, r.op.Platforms); err != nil {
				return fmt.Errorf("catalog %s: bundle %s: %w", r.op.Catalog, b.Name, err)
			}
		}
	}
	return nil
}

// wish asks for the catalog's own image, by the digest that was read or built.
func (r *taken) wish() *wish {
	return &wish{
		source: r.op.Catalog, ref: r.ref, kind: CatalogImage, repo: r.op.TargetCatalog, tag: r.op.TargetTag, all: true,
		because: []Because{{Catalog: r.entry.Name(), List: "operators"}}, catalog: r.entry.Name(), digest: r.entry.Digest,
	}
}

// build makes the catalog's image, or takes the source's where the catalog was
// asked for as it is.
func (r *taken) build(ctx context.Context, from From) error {
	fileBased := r.src.Image != nil && r.src.Kind == source.FileBased
	if fileBased && r.result.Unchanged {
		r.entry.Digest = r.entry.SourceDigest
		r.entry.ConfigsDir, r.entry.BinaryLess = r.src.Image.Directory(), r.src.Image.BinaryLess()
		return nil
	}
	var built *image.Built
	var err error
	if fileBased {
		built, err = image.Build(ctx, from.Store, r.src.Image, r.result.Catalog)
	} else {
		built, err = image.Scratch(ctx, from.Store, r.result.Catalog)
	}
	if err != nil {
		return fmt.Errorf("building the image of catalog %s: %w", r.op.Catalog, err)
	}
	r.entry.Built = true
	r.entry.Digest = built.Root.Digest
	r.entry.BinaryLess = built.BinaryLess
	r.entry.ConfigsDir = built.Directory
	for _, warning := range built.Warnings {
		r.notes = append(r.notes, r.entry.Name()+": "+warning)
	}
	return nil
}

// errChanged says that a plan cannot be carried out from its sources any more.
var errChanged = errors.New("its source is not what it was when the plan was made; make the plan again")

// Rebuild builds the image of a catalog of the plan again, from the source as
// it was, and puts it into the store. It is needed where the plan is carried
// out without the workspace that it was made in.
func Rebuild(ctx context.Context, c Catalog, from From) error {
	r, err := again(ctx, c, from, nil)
	if err == nil {
		err = r.build(ctx, from)
	}
	if err == nil && len(c.LeftOut) > 0 {
		err = rebuildReduced(ctx, c, r, from)
	}
	if err != nil {
		return err
	}
	if r.entry.Digest != c.Digest {
		return fmt.Errorf("catalog %s: what was built of it again is %s, the plan has %s: %w", c.Source, r.entry.Digest, c.Digest, errChanged)
	}
	return nil
}

// again reads and filters a catalog of a plan as it was done for the plan, or
// only some packages of one that was taken whole.
func again(ctx context.Context, c Catalog, from From, only func(pkg string) bool) (*taken, error) {
	op, err := imageset.ParseOperator(c.Selection)
	if err != nil {
		return nil, fmt.Errorf("reading the selection of catalog %s: %w", c.Source, err)
	}
	if ref, err := parseSource(c.Source); err == nil && ref.Path != "" {
		op.Catalog = ref.WithDigest(c.SourceDigest).String()
	}
	op.TargetCatalogSourceTemplate = "" // its text is in the plan
	op.Pos = imageset.Position{File: "the plan"}
	r := &taken{op: op, only: only}
	for _, q := range c.Required {
		r.required = append(r.required, filter.Required(q))
	}
	if err := r.open(ctx, from.once()); err != nil {
		return nil, err
	}
	if r.src.Digest != c.SourceDigest { // of a layout
		return nil, fmt.Errorf("catalog %s: %w", c.Source, errChanged)
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r, r.filter()
}
