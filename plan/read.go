package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// An InputError says that something beside the configuration that it names is
// not there or cannot be read.
type InputError struct{ err error }

func (e *InputError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.err }

// A pin finds the manifest that a source names, once: where two catalogs have one
// source, they are of the same moment.
type pin func(ctx context.Context, source string) (ocispec.Descriptor, error)

func newPin(images Images) pin {
	var mu sync.Mutex
	found := map[string]func() (ocispec.Descriptor, error){}
	return func(ctx context.Context, source string) (ocispec.Descriptor, error) {
		mu.Lock()
		find := found[source]
		if find == nil {
			find = sync.OnceValues(func() (ocispec.Descriptor, error) {
				desc, _, err := images.Manifest(ctx, source, "")
				return desc, err
			})
			found[source] = find
		}
		mu.Unlock()
		return find()
	}
}

// A taken is one catalog of the configuration after it was read: its entry in
// the plan and what was kept.
type taken struct {
	op       imageset.Operator
	entry    Catalog
	filtered *catalog.Catalog
	notes    []string
	ref      reference.Reference // zero for oci:// and dir://
}

// readCatalog reads one catalog, filters it, validates the result and, where it
// is not the catalog as it is, builds an image of it.
func readCatalog(ctx context.Context, from From, op imageset.Operator, pin pin) (*taken, error) {
	r := &taken{op: op}
	var err error
	if r.ref, err = parseSource(op.Catalog); err != nil {
		return nil, &InputError{fmt.Errorf("%s: %w", op.Pos, err)}
	}
	r.entry.Source = op.Catalog
	if op.TargetCatalog != "" || op.TargetTag != "" {
		r.entry.Target = strings.TrimSuffix(op.TargetCatalog+":"+op.TargetTag, ":")
	}
	if r.entry.Selection, err = json.Marshal(op); err != nil {
		return nil, fmt.Errorf("writing the selection of %s: %w", op.Catalog, err)
	}
	if name := op.TargetCatalogSourceTemplate; name != "" {
		text, err := from.Files.ReadFile(name)
		if err != nil {
			return nil, &InputError{fmt.Errorf("%s: reading targetCatalogSourceTemplate: %w", op.Pos, err)}
		}
		r.entry.Template, r.entry.TemplateName = string(text), name
	}
	var img *image.Image
	var whole *catalog.Catalog
	if dir, ok := strings.CutPrefix(op.Catalog, dirScheme); ok {
		fsys, err := from.Files.Dir(dir)
		if err != nil {
			return nil, &InputError{fmt.Errorf("%s: opening catalog %s: %w", op.Pos, op.Catalog, err)}
		}
		whole, err = catalog.Read(ctx, fsys, keep(op))
		if err != nil {
			return nil, fmt.Errorf("reading catalog %s: %w", op.Catalog, err)
		}
	} else if img, whole, err = r.readImage(ctx, from, op, pin); err != nil {
		return nil, err
	}
	result, err := filter.Apply(whole, op)
	if err != nil {
		return nil, err
	}
	if err := validate.Catalog(result.Catalog); err != nil {
		return nil, fmt.Errorf("catalog %s breaks rules of OLM, so that no cluster could use it:\n%w", op.Catalog, err)
	}
	r.filtered = result.Catalog
	r.describe(result)
	return r, r.build(ctx, from, img, result.Unchanged)
}

// keep asks a reader for the packages that the selection names.
func keep(op imageset.Operator) catalog.Options {
	if len(op.Packages) == 0 {
		return catalog.Options{}
	}
	return catalog.Options{Keep: func(name string) bool {
		return slices.ContainsFunc(op.Packages, func(p imageset.Package) bool { return p.Name == name })
	}}
}

func (r *taken) readImage(ctx context.Context, from From, op imageset.Operator, pin pin) (*image.Image, *catalog.Catalog, error) {
	desc, err := pin(ctx, op.Catalog)
	if err != nil {
		return nil, nil, fmt.Errorf("reading catalog %s: %w", op.Catalog, err)
	}
	r.entry.SourceDigest = desc.Digest
	img, err := image.Open(ctx, content{from.Images, op.Catalog}, desc)
	if err != nil {
		return nil, nil, fmt.Errorf("reading catalog %s: %w", op.Catalog, err)
	}
	whole, err := img.Read(ctx, keep(op))
	if err != nil {
		return nil, nil, fmt.Errorf("reading catalog %s: %w", op.Catalog, err)
	}
	return img, whole, nil
}

// content is one image of an Images, as package image wants it.
type content struct {
	images Images
	source string
}

func (c content) Manifest(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
	_, raw, err := c.images.Manifest(ctx, c.source, desc.Digest)
	return raw, err
}

func (c content) Blob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return c.images.Blob(ctx, c.source, desc)
}

// build makes the catalog's image, or takes the source's where the catalog was
// asked for as it is.
func (r *taken) build(ctx context.Context, from From, img *image.Image, unchanged bool) error {
	if img != nil && unchanged {
		r.entry.Digest = r.entry.SourceDigest
		r.entry.ConfigsDir, r.entry.BinaryLess = img.Directory(), img.BinaryLess()
		return nil
	}
	var built *image.Built
	var err error
	if img == nil {
		built, err = image.Scratch(ctx, from.Store, r.filtered)
	} else {
		built, err = image.Build(ctx, from.Store, img, r.filtered)
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

// describe enters what was kept and why.
func (r *taken) describe(result *filter.Result) {
	for _, note := range result.Notes {
		r.notes = append(r.notes, r.entry.Name()+": "+note)
	}
	r.entry.Packages = []Package{}
	for _, p := range result.Packages {
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
	for _, p := range r.filtered.Packages {
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

// ErrRebuilt says that a catalog that was built again is not what the plan has.
var ErrRebuilt = errors.New("the catalog that was built again has another digest")

// Rebuild builds the image of a catalog of the plan again, from the source as
// it was, and puts it into the store. It is needed where the plan is carried
// out without the workspace that it was made in.
func Rebuild(ctx context.Context, c Catalog, from From) error {
	op, err := imageset.ParseOperator(c.Selection)
	if err != nil {
		return fmt.Errorf("reading the selection of catalog %s: %w", c.Source, err)
	}
	if ref, err := parseSource(c.Source); err == nil && ref.Path != "" {
		op.Catalog = ref.WithDigest(c.SourceDigest).String()
	}
	op.TargetCatalogSourceTemplate = "" // its text is in the plan
	r, err := readCatalog(ctx, from, op, newPin(from.Images))
	if err != nil {
		return err
	}
	if r.entry.Digest != c.Digest {
		return fmt.Errorf("catalog %s: %w: %s instead of %s; make the plan again", c.Source, ErrRebuilt, r.entry.Digest, c.Digest)
	}
	return nil
}
