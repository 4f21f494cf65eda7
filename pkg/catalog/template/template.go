// Package template renders catalog templates: short files from which file-based catalogs are made.
//
// A template is one YAML or JSON object. Its schema says which kind it is:
//
//	olm.template.basic        the objects of a catalog, in which a bundle is only the reference of its image
//	olm.template.substitutes  a complete catalog, and images of bundles that take the places of others
//	olm.semver                bundles by maturity; channels and update edges follow from their versions
//	olm.composite             parts of several catalogs, made from other files; see [Composite]
//
// [Read] reads one of the first three, and [Template.Render] returns the objects of the catalog. A
// function of the caller renders the bundle images; the package does no I/O of its own. The same
// template and bundles give the same bytes. What is read is limited: the length of a template, the
// number of its bundles, and the total length of what they are rendered to.
//
// The rules are those of operator-registry (alpha/template, v1.73.0, and for the composite template,
// which it has no longer, v1.47.0). There, mistakes that leave a catalog without default channel are
// not noticed; here they are errors.
package template

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// The schemas of templates.
const (
	Basic       = "olm.template.basic"
	Substitutes = "olm.template.substitutes"
	Semver      = "olm.semver"
	Contents    = "olm.composite"          // the components of a composite template
	Catalogs    = "olm.composite.catalogs" // the catalogs that components may be for
	templates   = "olm.template."          // begins the schemas of newer templates
)

// Limits of what is read and rendered.
const (
	MaxSize     = 16 << 20 // of a template, in bytes
	maxBundles  = 10_000   // of a template
	maxRendered = 1 << 30  // of the rendered bundles in total, in bytes
)

// IsTemplate reports whether a schema belongs to a template, which must not be in a catalog. That
// includes templates that this package does not render.
func IsTemplate(schema string) bool {
	return schema == Semver || schema == Contents || schema == Catalogs || strings.HasPrefix(schema, templates)
}

// errFound ends the search for the first object.
var errFound = errors.New("found")

// SchemaOf returns the schema of the first object of a file, "" if the file does not begin with an
// object that has one. It reads at most MaxSize bytes.
func SchemaOf(r io.Reader) (string, error) {
	schema := ""
	err := catalog.NewStreamer(func(m *catalog.Meta) error {
		schema = m.Schema
		return errFound
	}).File("template", io.LimitReader(r, MaxSize))
	if err != nil && !errors.Is(err, errFound) {
		return "", err
	}
	return schema, nil
}

// A BundleFunc renders the bundle in an image as an olm.bundle object. It is called from several
// goroutines.
type BundleFunc func(ctx context.Context, image string) (*catalog.Meta, error)

// A Template is a basic, a substitutes or a semver template.
type Template struct {
	// Schema is Basic, Substitutes or Semver.
	Schema      string
	basic       []*catalog.Meta
	substitutes *substitutesText
	semver      *semverText
}

// Read reads a template. The name is its file's, for messages. A composite template is an
// error; see ReadComposite.
func Read(name string, r io.Reader) (*Template, error) {
	t, err := read(name, r)
	if err != nil {
		return nil, fmt.Errorf("reading template %s: %w", name, err)
	}
	return t, nil
}

func read(name string, r io.Reader) (*Template, error) {
	m, err := object(name, r)
	if err != nil {
		return nil, err
	}
	t := &Template{Schema: m.Schema}
	switch m.Schema {
	case Basic:
		t.basic, err = readBasic(name, m.Raw)
	case Substitutes:
		t.substitutes, err = readSubstitutes(name, m.Raw)
	case Semver:
		t.semver, err = readSemver(m.Raw)
	default:
		err = unknown(m.Schema)
	}
	return t, err
}

// unknown returns the error about an object that is not a template, or not one that is rendered.
func unknown(schema string) error {
	rendered := []string{Basic, Substitutes, Semver, Contents}
	switch phrase := suggest.Phrase(schema, rendered); {
	case schema == "olm.template.semver":
		return fmt.Errorf("schema %q: opm calls it %q", schema, Semver)
	case schema == Catalogs:
		return fmt.Errorf("schema %q: this file lists the catalogs of a composite template; name the file with schema %q", schema, Contents)
	case phrase != "":
		return fmt.Errorf("schema %q is not a template; %s", schema, phrase)
	case IsTemplate(schema):
		return fmt.Errorf("templates with schema %q are not supported, only %s", schema, strings.Join(rendered, ", "))
	}
	return fmt.Errorf("schema %q is not a template; the templates are %s", schema, strings.Join(rendered, ", "))
}

// object reads the only object of a file.
func object(name string, r io.Reader) (*catalog.Meta, error) {
	metas, err := objects(name, r)
	switch {
	case err != nil:
		return nil, err
	case len(metas) != 1:
		return nil, fmt.Errorf("it has %d objects; a template is one object", len(metas))
	}
	return metas[0], nil
}

// objects reads all objects of a file of at most MaxSize bytes.
func objects(name string, r io.Reader) ([]*catalog.Meta, error) {
	limited := &io.LimitedReader{R: r, N: MaxSize + 1}
	var metas []*catalog.Meta
	s := catalog.NewStreamer(func(m *catalog.Meta) error {
		metas = append(metas, m)
		return nil
	})
	err := s.File(name, limited)
	switch {
	case err != nil:
		return nil, err
	case limited.N == 0:
		return nil, fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	return metas, s.Close()
}

// Images returns the references of the bundle images, sorted and without duplicates.
func (t *Template) Images() []string {
	var images []string
	if t.semver != nil {
		images = t.semver.images()
	}
	if t.substitutes != nil {
		images = t.substitutes.images()
	}
	for _, m := range t.basic {
		if m.Schema == catalog.SchemaBundle {
			images = append(images, bundleImage(m))
		}
	}
	slices.Sort(images)
	return slices.Compact(images)
}

// Render returns the objects of the catalog, in the order in which catalogs are written: packages by
// name, each with its channels and bundles. Bundle images are rendered concurrently, each once.
func (t *Template) Render(ctx context.Context, render BundleFunc) ([]*catalog.Meta, error) {
	bundles, err := renderAll(ctx, t.Images(), render)
	if err != nil {
		return nil, err
	}
	var metas []*catalog.Meta
	switch {
	case t.semver != nil:
		metas, err = t.semver.catalog(bundles)
	case t.substitutes != nil:
		metas, err = t.substitutes.catalog(bundles)
	default:
		for _, m := range t.basic {
			if m.Schema == catalog.SchemaBundle {
				m = bundles[bundleImage(m)]
			}
			metas = append(metas, m)
		}
	}
	if err != nil {
		return nil, err
	}
	return inOrder(metas)
}

// renderAll renders the bundles of images.
func renderAll(ctx context.Context, images []string, render BundleFunc) (map[string]*catalog.Meta, error) {
	if len(images) > maxBundles {
		return nil, fmt.Errorf("the template has %d bundles, the limit is %d", len(images), maxBundles)
	}
	for _, image := range images {
		if _, err := reference.Parse(image); err != nil {
			return nil, err
		}
	}
	rendered := make([]*catalog.Meta, len(images))
	var size atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(4, runtime.GOMAXPROCS(0)))
	for i, image := range images {
		group.Go(func() error {
			m, err := render(ctx, image)
			switch {
			case err != nil:
				return err
			case m.Schema != catalog.SchemaBundle:
				return fmt.Errorf("%s is rendered to %q, not to a bundle", image, m.Schema)
			case size.Add(int64(len(m.Raw))) > maxRendered:
				return fmt.Errorf("the rendered bundles have more than %d bytes; divide the template", int64(maxRendered))
			}
			rendered[i] = m
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	byImage := map[string]*catalog.Meta{}
	for i, image := range images {
		byImage[image] = rendered[i]
	}
	return byImage, nil
}

// inOrder returns objects in the order in which catalogs are written, without positions.
func inOrder(metas []*catalog.Meta) ([]*catalog.Meta, error) {
	c, err := catalog.New(metas)
	if err != nil {
		return nil, err
	}
	var sorted []*catalog.Meta
	for _, p := range c.Packages {
		sorted = append(sorted, p.Objects()...)
	}
	sorted = append(sorted, c.Others...)
	for i, m := range sorted {
		copied := *m
		copied.File, copied.Line = "", 0 // of the template
		sorted[i] = &copied
	}
	return sorted, nil
}

// unmarshal decodes JSON as opm does, with member names in any case. With strict, unknown members are
// errors.
func unmarshal(raw []byte, into any, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if strict {
		d.DisallowUnknownFields()
	}
	return d.Decode(into)
}
