package authoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// BuildOptions says which catalog image BuildCatalog builds.
type BuildOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Catalog is an image, a folder or a file.
	Catalog string
	// Base is the base image. Without it, the image contains only the catalog.
	Base string
	// Destination is "docker://HOST[:PORT]/REPOSITORY[:TAG]" or "oci://DIR". The default tag is
	// latest.
	Destination string
}

// A BuiltCatalog is the result of BuildCatalog. Its JSON is what gantry catalog build --output json
// prints.
type BuiltCatalog struct {
	Version int `json:"version"`
	// Image is a reference with tag and digest, or the destination if that is a layout.
	Image      string `json:"image"`
	Digest     string `json:"digest"`
	BinaryLess bool   `json:"binaryLess"` // without a base image
	// Notes are about the image, for people.
	Notes []string `json:"-"`
}

// BuildCatalog builds the image of a valid catalog and pushes it to a registry, or writes it to an OCI
// layout. The same catalog and base give the same digest.
func BuildCatalog(ctx context.Context, o BuildOptions) (*BuiltCatalog, error) {
	e, done := o.Env.OrDefault()
	defer done()
	destination, repository, tag, err := catalogDestination(e, o.Destination)
	if err != nil {
		return nil, err
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	var p *plan.Plan
	makeImage := func(ctx context.Context) error {
		c, err := readValid(ctx, r, o.Catalog, catalog.Options{Pack: true})
		if err != nil {
			return err
		}
		p, err = build.CatalogImage(ctx, c, o.Base, repository, tag, r.Plan())
		return err
	}
	if to := destination.Registry(); to != nil {
		err = to.During(ctx, repository, true, makeImage)
	} else {
		err = makeImage(ctx)
	}
	if err != nil {
		return nil, err
	}
	streams, err := env.Streams(&e.Registries)
	if err != nil {
		return nil, err
	}
	report, err := destination.Copy(ctx, p, r.Origin, mirror.Options{Streams: streams, Fatal: site.Fatal, Log: e.Logger()})
	if err == nil && len(report.Failed) > 0 {
		err = report.Failed[0].Err
	}
	if err != nil {
		return nil, fmt.Errorf("publishing %s: %w", o.Destination, err)
	}
	result := &BuiltCatalog{Version: 1, Image: o.Destination, Digest: p.Images[0].Digest.String(), BinaryLess: o.Base == "", Notes: p.Notes}
	if text, ok := strings.CutPrefix(o.Destination, env.RegistryScheme); ok {
		result.Image = fmt.Sprintf("%s:%s@%s", strings.TrimSuffix(text, ":"+tag), tag, result.Digest)
	}
	return result, nil
}

// catalogDestination parses the destination of an image. It returns the registry or layout, and the
// repository and tag of the image there.
func catalogDestination(e *env.Env, text string) (d site.Destination, repository, tag string, err error) {
	if dir, ok := strings.CutPrefix(text, env.LayoutScheme); ok && dir != "" {
		name := strings.ToLower(filepath.Base(dir))
		if strings.ContainsAny(name, ":@") {
			return nil, "", "", env.Inputf("destination %q: give only the folder; it names the image", text)
		}
		if !reference.IsPath(name) {
			name = "catalog"
		}
		d, err = site.OpenDestination(e, text, site.DestinationOptions{KeepLayout: true})
		return d, name, "latest", err
	}
	name, ok := strings.CutPrefix(text, env.RegistryScheme)
	shown := redact.Address(text)
	if !ok {
		return nil, "", "", env.Inputf("destination %q: write docker://HOST[:PORT]/REPOSITORY[:TAG] or oci://DIR", shown)
	}
	ref, err := reference.Parse(name)
	switch {
	case err != nil:
		return nil, "", "", env.Inputf("destination %q: %w", shown, err)
	case reference.IsShort(name): // a reference to docker.io
		return nil, "", "", env.Inputf("destination %q: it names no registry and repository; write docker://HOST[:PORT]/REPOSITORY[:TAG]", shown)
	case ref.Digest != "":
		return nil, "", "", env.Inputf("destination %q: give a tag instead of a digest; the content determines the digest", shown)
	}
	d, err = site.OpenDestination(e, env.RegistryScheme+ref.Host, site.DestinationOptions{})
	return d, ref.Path, cmp.Or(ref.Tag, "latest"), err
}

// ReadValid reads the catalog that an argument names. If OLM would refuse the catalog, the error has
// all its problems.
func ReadValid(ctx context.Context, r *workspace.Sources, arg string) (*catalog.Catalog, error) {
	return readValid(ctx, r, arg, catalog.Options{})
}

func readValid(ctx context.Context, r *workspace.Sources, arg string, options catalog.Options) (*catalog.Catalog, error) {
	c, err := r.Read(ctx, arg, options)
	if err != nil {
		return nil, err
	}
	err = validate.Catalog(c)
	var invalid *validate.Error
	if errors.As(err, &invalid) {
		return nil, fmt.Errorf("%w\n%w", invalidCatalog(arg, len(invalid.Problems)), err)
	}
	return c, err
}

// invalidCatalog returns the error for a catalog that OLM refuses.
func invalidCatalog(arg string, problems int) error {
	return fmt.Errorf("catalog %s is invalid: %s", arg, env.Number(problems, "problem", "problems"))
}
