package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/catalog/template"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A selectedCatalog is one catalog of the configuration: its content, and what is kept and why.
type selectedCatalog struct {
	op    imageset.Operator
	entry plan.Catalog
	ref   reference.Reference // zero for oci:// and dir://
	src   *source.Source

	// outline reports whether packages that were not read are outlined.
	outline bool
	// installed are the operators that clusters run, of any catalog.
	installed []imageset.Installed
	// required are the bundles that other bundles need of this catalog.
	required []filter.Required
	// only, if set, limits a catalog that is selected completely to some packages. The others are
	// outlined.
	only func(pkg string) bool

	full *catalog.Catalog // before filtering, without bundles that are too young
	// whole is full with these bundles. young are the reasons to leave them out, aged the images whose age is known, and
	// left what is left of their packages.
	whole   *catalog.Catalog
	young   []plan.YoungBundle
	aged    map[string]bool
	left    []filter.Left
	undated int // bundles of unknown age

	result *filter.Result
	notes  []string
	// unlisted are the images that the kept bundles use and do not list.
	unlisted unlistedImages
}

// selectCatalog opens a catalog, reads the packages that the configuration selects, and filters them.
func selectCatalog(ctx context.Context, sources Sources, r *selectedCatalog) (*selectedCatalog, error) {
	if err := r.open(ctx, sources); err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r, r.filter()
}

func (r *selectedCatalog) open(ctx context.Context, sources Sources) error {
	var err error
	if r.ref, err = parseSource(r.op.Catalog); err != nil {
		return inputErrorf("%s: %w", r.op.Pos, err)
	}
	r.entry.Source = r.op.Catalog
	r.entry.Target = targetName(r.op)
	if err := r.readTemplates(sources.Files); err != nil {
		return err
	}
	r.src, err = source.Open(ctx, source.From{
		Images: sources.Images, Files: sources.Files, Databases: sources.Databases, Snapshots: sources.Snapshots, Tags: sources.Tags,
	}, r.op.Catalog)
	var local *localError
	switch {
	case errors.As(err, &local), err != nil && strings.HasPrefix(r.op.Catalog, dirScheme):
		return inputErrorf("%s: %w", r.op.Pos, err)
	case err != nil:
		return err
	case r.src.Kind == source.Bundle:
		return inputErrorf("%s: reading catalog %s: %w", r.op.Pos, r.op.Catalog, image.ErrBundle)
	}
	r.entry.SourceDigest = r.src.Digest
	return nil
}

// readTemplates reads the templates of the catalog's objects.
func (r *selectedCatalog) readTemplates(files Files) error {
	for _, t := range []struct {
		field, file string
		text, name  *string
	}{
		{"targetCatalogSourceTemplate", r.op.TargetCatalogSourceTemplate, &r.entry.Template, &r.entry.TemplateName},
		{"targetClusterCatalogTemplate", r.op.TargetClusterCatalogTemplate, &r.entry.ClusterCatalogTemplate, &r.entry.ClusterCatalogTemplateName},
	} {
		if t.file == "" {
			continue
		}
		text, err := files.ReadFile(t.file)
		if err != nil {
			return inputErrorf("%s: reading %s: %w", r.op.Pos, t.field, err)
		}
		*t.text, *t.name = string(text), t.file
	}
	return nil
}

// targetName returns the "REPOSITORY:TAG" of targetCatalog and targetTag; "" if neither is set.
func targetName(op imageset.Operator) string {
	if op.TargetCatalog == "" && op.TargetTag == "" {
		return ""
	}
	return strings.TrimSuffix(op.TargetCatalog+":"+op.TargetTag, ":")
}

// read reads the selected packages; all, if the configuration lists none.
func (r *selectedCatalog) read(ctx context.Context) (err error) {
	options := catalog.Options{Pack: true, Outline: r.outline || r.only != nil && len(r.op.Packages) == 0, Keep: r.only}
	if len(r.op.Packages) > 0 {
		selected := map[string]bool{}
		for _, p := range r.op.Packages {
			selected[p.Name] = true
		}
		for _, p := range r.required {
			selected[p.Package] = true
		}
		options.Keep = func(name string) bool { return selected[name] }
	}
	if r.full, err = r.src.Read(ctx, options); err != nil {
		return err
	}
	if err := r.checkFolder(); err != nil {
		return err
	}
	r.whole = r.full
	return r.dropYoung()
}

// checkFolder refuses a path without packages: the path is wrong, or the catalog is not rendered yet.
func (r *selectedCatalog) checkFolder() error {
	if len(r.full.Names) > 0 || r.src.Image != nil {
		return nil
	}
	for _, m := range r.full.Others {
		if template.IsTemplate(m.Schema) {
			file := strings.TrimSuffix(r.op.Catalog, "/") + "/" + m.File
			return inputErrorf("%s: catalog %s has no packages, only the template %s; use %s as the catalog, which is rendered then", r.op.Pos, r.op.Catalog, m.File, file)
		}
	}
	return inputErrorf("%s: catalog %s has no packages; check the path", r.op.Pos, r.op.Catalog)
}

// filter selects bundles from the content, including the installed operators of clusters.
func (r *selectedCatalog) filter() (err error) {
	op := r.op
	op.Installed = slices.Clone(op.Installed)
	for _, in := range r.installed {
		if r.full.Package(in.Package) != nil {
			op.Installed = append(op.Installed, in)
		}
	}
	if r.entry.Selection, err = json.Marshal(op); err != nil {
		return fmt.Errorf("writing the selection of %s: %w", op.Catalog, err)
	}
	r.result, err = filter.Apply(r.full, op, r.required...)
	if len(r.young) == 0 {
		return err
	}
	if err != nil {
		return r.explainYoung(err)
	}
	changed := *r.result
	changed.Unchanged = false
	r.result = &changed
	return nil
}

// describe writes what was kept, and why, into the entry and the notes.
func (r *selectedCatalog) describe() {
	for _, note := range r.result.Notes {
		r.notes = append(r.notes, r.entry.Name()+": "+note)
	}
	if r.src.Kind == source.SQLite {
		r.notes = append(r.notes, r.entry.Name()+": it is an SQLite index, as used before OpenShift 4.11; the mirror gets a file-based catalog instead")
	}
	r.notes = append(r.notes, notesOnOLMv1(r.entry.Name(), r.result.Catalog)...)
	r.entry.TooYoung = r.young
	r.notes = append(r.notes, r.notesOnYoung()...)
	r.entry.Features = declaredFeatures(r.result.Catalog)
	r.notes = append(r.notes, notesOnFeatures(r.entry.Name(), r.entry.Features)...)
	for _, q := range r.required {
		r.entry.Required = append(r.entry.Required, plan.Required(q))
		r.notes = append(r.notes, fmt.Sprintf("%s: package %q: channel %q: kept because others need it: %s (for %s)", r.entry.Name(), q.Package, q.Channel, q.Bundle, q.For))
	}
	r.entry.Packages = []plan.Package{}
	for _, p := range r.result.Packages {
		versions := map[string]string{}
		for _, b := range p.Bundles {
			versions[b.Name] = b.Version
		}
		kept := plan.Package{Name: p.Name, DefaultChannel: p.DefaultChannel, Channels: []plan.Channel{}}
		for _, c := range p.Channels {
			ch := plan.Channel{Name: c.Name, Head: c.Head, Bundles: []plan.Bundle{}}
			for _, e := range c.Entries {
				ch.Bundles = append(ch.Bundles, plan.Bundle{Name: e.Name, Version: versions[e.Name], Reason: string(e.Reason), For: e.For})
			}
			kept.Channels = append(kept.Channels, ch)
		}
		r.entry.Packages = append(r.entry.Packages, kept)
	}
}

// addRequests requests every image that the filtered catalog names.
func (r *selectedCatalog) addRequests(set *requestSet) error {
	for _, p := range r.result.Catalog.Packages {
		for _, b := range p.Bundles {
			if err := set.addBundle(r.entry.Name(), b, r.op.Platforms, r.rewrites()); err != nil {
				return fmt.Errorf("catalog %s: bundle %s: %w", r.op.Catalog, b.Name, err)
			}
		}
	}
	return r.addUnlisted(set)
}

// catalogImages are the catalogs of a plan with the digests of their images, and requests for these images.
type catalogImages struct {
	catalogs []plan.Catalog
	requests []*imageRequest
	notes    []string
}

// buildImages builds the images of the catalogs.
func (s catalogSelection) buildImages(ctx context.Context, sources Sources, format manifest.Format) (catalogImages, error) {
	built := catalogImages{catalogs: make([]plan.Catalog, len(s.all)), requests: make([]*imageRequest, len(s.all))}
	warnings := make([][]string, len(s.all))
	err := each(ctx, len(s.all), func(ctx context.Context, i int) (err error) {
		built.catalogs[i], warnings[i], err = s.all[i].build(ctx, sources, format)
		built.requests[i] = s.all[i].request(built.catalogs[i])
		return err
	})
	built.notes = slices.Concat(warnings...)
	return built, err
}

// converted replaces the digests of catalogs that were not built and have been converted. images are those of the requests.
func (c catalogImages) converted(images []resolvedImage) {
	for i, r := range images {
		if r.err == nil {
			c.catalogs[i].Digest = r.digest
		}
	}
}

// request requests the catalog's own image by its digest.
func (r *selectedCatalog) request(c plan.Catalog) *imageRequest {
	return &imageRequest{
		source: r.op.Catalog, kind: plan.CatalogImage, repo: r.op.TargetCatalog, tag: r.op.TargetTag, all: true,
		reasons: []plan.Reason{{Catalog: c.Name(), List: "operators"}}, catalog: c.Name(), digest: c.Digest,
	}
}

// build builds the catalog's image in a format, or uses the image of the source if nothing was filtered out. It
// returns the catalog's entry in the plan.
func (r *selectedCatalog) build(ctx context.Context, sources Sources, format manifest.Format) (entry plan.Catalog, notes []string, err error) {
	entry = r.entry
	fileBased := r.src.Image != nil && r.src.Kind == source.FileBased
	if fileBased && r.result.Unchanged {
		entry.Digest = entry.SourceDigest
		entry.ConfigsDir, entry.BinaryLess = r.src.Image.Directory(), r.src.Image.BinaryLess()
		return entry, nil, nil
	}
	var built *image.Built
	if fileBased {
		built, err = image.Build(ctx, sources.Store, r.src.Image, r.result.Catalog)
	} else {
		built, err = image.Scratch(ctx, sources.Store, r.result.Catalog)
	}
	if err != nil {
		return entry, nil, fmt.Errorf("building the image of catalog %s: %w", r.op.Catalog, err)
	}
	entry.Built, entry.BinaryLess, entry.ConfigsDir = true, built.BinaryLess, built.Directory
	if entry.Digest, err = inFormat(ctx, r.op.Catalog, built.Root.Digest, sources, format); err != nil {
		return entry, nil, fmt.Errorf("building the image of catalog %s: %w", r.op.Catalog, err)
	}
	notes = elements.Map(built.Warnings, func(warning string) string { return entry.Name() + ": " + warning })
	return entry, notes, nil
}

// errChanged means that a plan can no longer be rebuilt from its sources.
var errChanged = advice.New(advice.Failure, "make the plan again", "its source has changed since the plan was made")

// RebuildCatalog builds the image of a catalog of a plan again from the source that the plan pins,
// and stores it. It is needed if a plan is mirrored without the workspace that it was made in. digests
// are those of the plan's smaller indexes and converted images (plan.Plan.Rewritten), format is plan.Plan.Format.
func RebuildCatalog(ctx context.Context, c plan.Catalog, digests map[digest.Digest]digest.Digest, format manifest.Format, sources Sources) error {
	r, err := reselect(ctx, c, sources, nil)
	if err == nil {
		err = r.rewriteBundles(digests)
	}
	if err != nil {
		return err
	}
	entry, _, err := r.build(ctx, sources, format)
	if err == nil && len(c.Excluded) > 0 {
		entry, err = rebuildReduced(ctx, c, r.op.Catalog, entry, sources)
	}
	if err != nil {
		return err
	}
	if entry.Digest != c.Digest {
		return fmt.Errorf("catalog %s: its rebuilt image is %s, but the plan has %s: %w", c.Source, entry.Digest, c.Digest, errChanged)
	}
	return nil
}

// reselect reads and filters a catalog of a plan as it was done for the plan, or only some packages
// of a catalog that was selected completely.
func reselect(ctx context.Context, c plan.Catalog, sources Sources, only func(pkg string) bool) (*selectedCatalog, error) {
	op, err := imageset.ParseOperator(c.Selection)
	if err != nil {
		return nil, fmt.Errorf("reading the selection of catalog %s: %w", c.Source, err)
	}
	if ref, err := parseSource(c.Source); err == nil && ref.Path != "" {
		op.Catalog = ref.WithDigest(c.SourceDigest).String()
	}
	op.TargetCatalogSourceTemplate, op.TargetClusterCatalogTemplate = "", "" // their texts are in the plan
	op.Pos = imageset.Position{File: "the plan"}
	r := &selectedCatalog{op: op, only: only, young: c.TooYoung}
	for _, q := range c.Required {
		r.required = append(r.required, filter.Required(q))
	}
	if err := r.open(ctx, sources.withTagCache()); err != nil {
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

// priority returns the priority of the CatalogSource for the mirror, which a template may set.
func (r *selectedCatalog) priority() int {
	var template struct {
		Spec struct {
			Priority int `json:"priority"`
		} `json:"spec"`
	}
	// An invalid template is reported when it is filled in.
	_ = yaml.Unmarshal([]byte(r.entry.Template), &template)
	return template.Spec.Priority
}
