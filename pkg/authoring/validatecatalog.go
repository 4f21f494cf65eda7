package authoring

import (
	"context"
	"errors"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/catalog/template"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// ValidateOptions says which catalog ValidateCatalog checks.
type ValidateOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Catalog is an image, a folder or a file.
	Catalog string
}

// A Validation is the result of ValidateCatalog. Its JSON is what gantry catalog validate --output json
// prints.
type Validation struct {
	Version  int              `json:"version"`
	Catalog  string           `json:"catalog"`
	Passed   bool             `json:"passed"`
	Problems []CatalogProblem `json:"problems"`
	// Packages, Channels and Bundles are counts. They are 0 if the catalog could not be parsed.
	Packages int `json:"-"`
	Channels int `json:"-"`
	Bundles  int `json:"-"`
}

// A CatalogProblem is a problem of a catalog. Rule is "grammar" for an object that cannot be parsed.
type CatalogProblem struct {
	Rule    string `json:"rule"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// ValidateCatalog checks a catalog against the rules of OLM and returns all problems. If there are any,
// it returns the result and an error.
func ValidateCatalog(ctx context.Context, o ValidateOptions) (*Validation, error) {
	e, done := o.Env.OrDefault()
	defer done()
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	v := &Validation{Version: 1, Catalog: o.Catalog, Problems: []CatalogProblem{}}
	validator := validate.NewValidator()
	src, err := r.Open(ctx, o.Catalog)
	switch {
	case err != nil:
		return nil, err
	case src.Kind == source.Template:
		v.Problems = []CatalogProblem{{Rule: ruleTemplate, File: src.TemplateFile(), Line: 1, Message: unrendered}}
		return v, invalidCatalog(o.Catalog, 1)
	}
	c, err := src.Read(ctx, validator.Options())
	var unread *catalog.Error
	var invalid *validate.Error
	switch {
	case errors.As(err, &unread):
		for _, p := range unread.Problems {
			v.Problems = append(v.Problems, CatalogProblem{"grammar", p.File, p.Line, p.Message})
		}
	case err != nil:
		return nil, err
	default:
		v.Packages = len(c.Packages)
		for _, p := range c.Packages {
			v.Channels += len(p.Channels)
			v.Bundles += len(p.Bundles)
		}
		if errors.As(validator.Catalog(c), &invalid) {
			for _, p := range invalid.Problems {
				v.Problems = append(v.Problems, CatalogProblem{string(p.Rule), p.File, p.Line, p.Message})
			}
		}
		v.Problems = append(v.Problems, notServed(c)...)
	}
	if len(v.Problems) > 0 {
		return v, invalidCatalog(o.Catalog, len(v.Problems))
	}
	v.Passed = true
	return v, nil
}

// The rules about content that OLM's validator accepts, although no cluster could use it.
const (
	ruleTemplate = "unrendered-template"
	rulePackages = "no-packages"
	unrendered   = "this is a catalog template; render it with gantry catalog render --template, and validate the result"
)

// notServed returns problems with content that OLM loads without serving anything: templates, which it
// takes for objects of an unknown schema, and a catalog without packages.
func notServed(c *catalog.Catalog) []CatalogProblem {
	var found []CatalogProblem
	others := slices.Clone(c.Others)
	for _, p := range c.Packages {
		others = append(others, p.Others...)
	}
	for _, m := range others {
		if template.IsTemplate(m.Schema) {
			found = append(found, CatalogProblem{ruleTemplate, m.File, m.Line, m.Schema + ": " + unrendered})
		}
	}
	if len(c.Packages) == 0 && len(found) == 0 {
		found = append(found, CatalogProblem{Rule: rulePackages, Message: "the catalog has no packages; check the path"})
	}
	return found
}
