package template

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// The builders of components.
const (
	builderRaw    = "olm.builder.raw"
	builderBasic  = "olm.builder.basic"
	builderSemver = "olm.builder.semver"
	builderCustom = "olm.builder.custom"
)

const maxComponents = 1000

// A Composite is a composite template: components for catalogs, each made from a file. A file with
// schema Contents lists the components, another one with schema Catalogs the catalogs and the builders
// that each allows.
type Composite struct {
	Components []Component
}

// A Component is the part of one catalog that a composite template makes.
type Component struct {
	// Catalog is the name of the catalog.
	Catalog string
	// Path is the slash-separated path of the file that opm writes, below a folder for all catalogs.
	Path string
	// Input is the file that the component is made from: a template, or objects of a catalog.
	Input string

	builder string
}

// ReadComposite reads the files of a composite template. The names are for messages. Components of
// catalogs that do not exist, builders that a catalog does not allow, paths outside of the folder of
// all catalogs, and the builder that runs a command are errors.
func ReadComposite(name string, contents io.Reader, catalogsName string, catalogs io.Reader) (*Composite, error) {
	allowed, err := readCatalogs(catalogsName, catalogs)
	if err != nil {
		return nil, fmt.Errorf("reading the catalogs of a composite template in %s: %w", catalogsName, err)
	}
	c, err := readContents(name, contents, allowed)
	if err != nil {
		return nil, fmt.Errorf("reading composite template %s: %w", name, err)
	}
	return c, nil
}

// A catalogConfig is a catalog that components may be for.
type catalogConfig struct {
	Name        string `json:"name"`
	Destination struct {
		WorkingDir string `json:"workingDir"`
	} `json:"destination"`
	Builders []string `json:"builders"`
}

func readCatalogs(name string, r io.Reader) ([]catalogConfig, error) {
	m, err := object(name, r)
	if err != nil {
		return nil, err
	}
	if m.Schema != Catalogs {
		return nil, fmt.Errorf("schema %q; it must be %q", m.Schema, Catalogs)
	}
	var t struct {
		Catalogs []catalogConfig `json:"catalogs"`
	}
	if err := unmarshal(m.Raw, &t, false); err != nil {
		return nil, err
	}
	for i, c := range t.Catalogs {
		switch {
		case c.Name == "":
			return nil, fmt.Errorf("catalogs[%d] has no name", i)
		case slices.ContainsFunc(t.Catalogs[:i], func(other catalogConfig) bool { return other.Name == c.Name }):
			return nil, fmt.Errorf("catalog %q is listed twice", c.Name)
		case c.Destination.WorkingDir == "":
			return nil, fmt.Errorf("catalog %q: destination.workingDir is missing", c.Name)
		}
	}
	return t.Catalogs, nil
}

// A componentText is a component as it is written.
type componentText struct {
	Name        string `json:"name"`
	Destination struct {
		Path string `json:"path"`
	} `json:"destination"`
	Strategy struct {
		Name     string `json:"name"`
		Template struct {
			Schema string          `json:"schema"`
			Config json.RawMessage `json:"config"`
		} `json:"template"`
	} `json:"strategy"`
}

func readContents(name string, r io.Reader, catalogs []catalogConfig) (*Composite, error) {
	m, err := object(name, r)
	if err != nil {
		return nil, err
	}
	if m.Schema != Contents {
		return nil, unknown(m.Schema)
	}
	var t struct {
		Components []componentText `json:"components"`
	}
	if err := unmarshal(m.Raw, &t, false); err != nil {
		return nil, err
	}
	if len(t.Components) == 0 || len(t.Components) > maxComponents {
		return nil, fmt.Errorf("it has %d components, want 1 to %d", len(t.Components), maxComponents)
	}
	c := &Composite{}
	paths := map[string]bool{}
	for i, text := range t.Components {
		component, err := text.component(catalogs)
		if err == nil && paths[component.Path] {
			err = fmt.Errorf("another component is written to %s, too", component.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("components[%d] (%q): %w", i, text.Name, err)
		}
		paths[component.Path] = true
		c.Components = append(c.Components, component)
	}
	return c, nil
}

// component checks a component.
func (t componentText) component(catalogs []catalogConfig) (c Component, err error) {
	at := slices.IndexFunc(catalogs, func(c catalogConfig) bool { return c.Name == t.Name })
	if at < 0 {
		names := elements.Map(catalogs, func(c catalogConfig) string { return c.Name })
		hint := cmp.Or(suggest.Phrase(t.Name, names), "the catalogs are "+strings.Join(names, ", "))
		return c, fmt.Errorf("there is no catalog of that name; %s", hint)
	}
	to, builder := catalogs[at], t.Strategy.Template.Schema
	known := []string{builderRaw, builderBasic, builderSemver, builderCustom}
	switch {
	case !slices.Contains(known, builder):
		hint := cmp.Or(suggest.Phrase(builder, known), "the builders are "+strings.Join(known, ", "))
		return c, fmt.Errorf("builder %q does not exist; %s", builder, hint)
	case !slices.Contains(to.Builders, builder):
		return c, fmt.Errorf("catalog %s does not allow builder %s, only %s", to.Name, builder, strings.Join(to.Builders, ", "))
	case builder == builderCustom:
		return c, errors.New("builder " + builderCustom + " runs a command, which Gantry does not: a template could run anything with your rights; " +
			"run the command yourself, save what it prints in a file, and use builder " + builderRaw)
	}
	var config struct {
		Input  string `json:"input"`
		Output string `json:"output"`
	}
	if err := unmarshal(t.Strategy.Template.Config, &config, true); err != nil {
		return c, fmt.Errorf("strategy.template.config: %w", err)
	}
	switch {
	case config.Input == "":
		return c, errors.New("strategy.template.config.input is missing")
	case config.Output == "":
		return c, errors.New("strategy.template.config.output is missing")
	}
	c = Component{Catalog: to.Name, Input: config.Input, builder: builder}
	for _, part := range []string{to.Destination.WorkingDir, t.Destination.Path, config.Output} {
		if part != "" && !filepath.IsLocal(filepath.FromSlash(part)) {
			return c, fmt.Errorf("path %q leads out of the folder that is written to; use a path below it", part)
		}
	}
	c.Path = path.Join(to.Destination.WorkingDir, t.Destination.Path, config.Output)
	return c, nil
}

// Catalogs returns the names of the catalogs that have components, sorted.
func (c *Composite) Catalogs() []string {
	names := elements.Map(c.Components, func(part Component) string { return part.Catalog })
	slices.Sort(names)
	return slices.Compact(names)
}

// Render returns the objects of a component, in the order in which catalogs are written. Open opens
// the file Component.Input.
func (c Component) Render(ctx context.Context, open func(name string) (io.ReadCloser, error), render BundleFunc) (metas []*catalog.Meta, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("making %s for catalog %s: %w", c.Path, c.Catalog, err)
		}
	}()
	in, err := open(c.Input)
	if err != nil {
		return nil, err
	}
	defer in.Close() // only read
	if c.builder == builderRaw {
		if metas, err = objects(c.Input, in); err != nil {
			return nil, err
		}
		return inOrder(metas)
	}
	t, err := Read(c.Input, in)
	if err != nil {
		return nil, err
	}
	if want := map[string]string{builderBasic: Basic, builderSemver: Semver}[c.builder]; t.Schema != want {
		return nil, fmt.Errorf("%s has schema %q, but builder %s needs %q", c.Input, t.Schema, c.builder, want)
	}
	return t.Render(ctx, render)
}
