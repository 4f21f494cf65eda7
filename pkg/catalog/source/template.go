package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/template"
)

// catalogsFile is the name of the file with the catalogs of a composite template.
const catalogsFile = "catalogs.yaml"

// A templateSource is an opened template.
type templateSource struct {
	template  *template.Template  // basic or semver
	composite *template.Composite // or composite
	dir       string              // the folder of a composite template
	file      string              // its name, without the folder; "" if it is not a file
}

// TemplateFile returns the name of the file of a template, without its folder; "" for other sources.
func (s *Source) TemplateFile() string {
	if s.templates == nil {
		return ""
	}
	return s.templates.file
}

// OpenTemplate opens a template that is not a file, such as standard input. Files that a composite template names are relative
// to the working directory.
func OpenTemplate(from From, name string, r io.Reader) (*Source, error) {
	text, err := io.ReadAll(io.LimitReader(r, template.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	s := &Source{Name: name, Kind: Template, from: from}
	return s, s.openTemplate(name, ".", text)
}

// openTemplate reads a template.
func (s *Source) openTemplate(name, dir string, text []byte) error {
	schema, err := template.SchemaOf(strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	s.templates = &templateSource{dir: dir}
	if schema != template.Contents {
		s.templates.template, err = template.Read(name, strings.NewReader(string(text)))
		return advice.Wrap(advice.Input, err, "")
	}
	config := cmp.Or(s.from.CatalogConfig, filepath.Join(dir, catalogsFile))
	if strings.Contains(config, "://") {
		return advice.New(advice.Input, "download it and name the file", "catalog configuration %s: it is read from files only", config)
	}
	in, err := s.openPath(config)
	if errors.Is(err, fs.ErrNotExist) && s.from.CatalogConfig == "" {
		return advice.New(advice.Input, "name the file with the catalogs", "%s is a composite template, and its catalogs are not in %s", name, config)
	}
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	defer in.Close() // only read
	s.templates.composite, err = template.ReadComposite(name, strings.NewReader(string(text)), config, in)
	return advice.Wrap(advice.Input, err, "")
}

// readTemplate opens the only file of fsys if it is a template. It leaves other files alone.
func (s *Source) readTemplate(path, name string) (bool, error) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close() // only read
	schema, err := template.SchemaOf(f)
	if err != nil || !template.IsTemplate(schema) {
		return false, nil // a catalog, or nothing; reading it tells
	}
	again, err := s.fsys.Open(name)
	if err != nil {
		return false, err
	}
	defer again.Close() // only read
	text, err := io.ReadAll(io.LimitReader(again, template.MaxSize+1))
	if err != nil {
		return false, err
	}
	err = s.openTemplate(path, filepath.Dir(path), text)
	s.templates.file = name
	return true, err
}

// openPath opens a file of the user.
func (s *Source) openPath(path string) (io.ReadCloser, error) {
	fsys, err := s.from.Files.Dir(path)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	if len(entries) != 1 || entries[0].IsDir() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	return fsys.Open(entries[0].Name())
}

// openInput opens a file that a composite template names: relative to the working directory or, if it
// does not exist there, beside the template, as opm does.
func (t *templateSource) openInput(s *Source, path string) (io.ReadCloser, error) {
	in, err := s.openPath(path)
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(path) {
		return s.openPath(filepath.Join(t.dir, path))
	}
	return in, err
}

// renderedBundle renders the bundle in an image.
func (s *Source) renderedBundle(ctx context.Context, image string) (*catalog.Meta, error) {
	src, err := Open(ctx, s.from, image)
	if err != nil {
		return nil, err
	}
	if src.Kind != Bundle {
		return nil, advice.New(advice.Input, "", "%s is a %s; a template lists the images of bundles", image, src.Kind)
	}
	m, err := src.bundle(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading bundle %s: %w", image, err)
	}
	return m, nil
}

// Components returns the parts of catalogs that a composite template makes; nil for every other
// source.
func (s *Source) Components() []template.Component {
	if s.Kind != Template || s.templates.composite == nil {
		return nil
	}
	return s.templates.composite.Components
}

// RenderComponent returns the objects of one of the Components.
func (s *Source) RenderComponent(ctx context.Context, c template.Component) ([]*catalog.Meta, error) {
	return c.Render(ctx, func(name string) (io.ReadCloser, error) { return s.templates.openInput(s, name) }, s.renderedBundle)
}

// render returns the objects of a template: of a composite template, those for From.Component, or for
// its only catalog.
func (s *Source) render(ctx context.Context) ([]*catalog.Meta, error) {
	if t := s.templates.template; t != nil {
		return t.Render(ctx, s.renderedBundle)
	}
	names, want := s.templates.composite.Catalogs(), s.from.Component
	switch {
	case want == "" && len(names) > 1:
		return nil, advice.New(advice.Input, "render one of them", "the composite template has components for %d catalogs: %s", len(names), strings.Join(names, ", "))
	case want == "":
		want = names[0]
	case !slices.Contains(names, want):
		hint := cmp.Or(suggest.Phrase(want, names), "it has components for "+strings.Join(names, ", "))
		return nil, advice.New(advice.Input, hint, "the composite template has no component for a catalog %q", want)
	}
	var metas []*catalog.Meta
	for _, c := range s.Components() {
		if c.Catalog != want {
			continue
		}
		more, err := s.RenderComponent(ctx, c)
		if err != nil {
			return nil, err
		}
		metas = append(metas, more...)
	}
	return metas, nil
}
