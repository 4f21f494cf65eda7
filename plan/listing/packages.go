package listing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// PackagesOptions says which packages of a catalog Packages returns.
type PackagesOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Sources are open sources, which are used instead of Workspace. The default is nil.
	Sources *workspace.Sources
	// Catalog is an image, a folder or a file.
	Catalog string
	// Package selects one package. The default is all of them.
	Package string
	// Channel is a channel that the package must have.
	Channel string
	// Bundles also reads the bundles of all packages, which takes longer.
	Bundles bool
}

// packages returns the packages of a catalog: one with its bundles, or the outlines of all, which have no bundles. It is an
// error of kind Input if the catalog does not have the package or the channel. If see is not nil and all bundles are read, it is called with
// each of them, from several goroutines, before its text is dropped.
func (o *PackagesOptions) packages(ctx context.Context, see func(*catalog.Bundle)) ([]*catalog.Package, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.Channel != "" && o.Package == "" {
		return nil, env.Inputf("Options.Channel %s requires a package", o.Channel)
	}
	r := o.Sources
	if r == nil {
		var err error
		if r, err = workspace.OpenSources(e, env.WorkspaceDir(o.Workspace)); err != nil {
			return nil, err
		}
		defer workspace.CloseSources(e, r)
	}
	options := catalog.Options{Keep: func(name string) bool { return name == o.Package || o.Package == "" && o.Bundles }, Outline: o.Package == "" && !o.Bundles}
	if o.Package == "" && o.Bundles {
		options.DropText = see
	}
	c, err := r.Read(ctx, o.Catalog, options)
	if err != nil {
		return nil, err
	}
	if o.Package == "" && o.Bundles {
		return c.Packages, nil
	}
	if o.Package == "" {
		return c.Outlines, nil
	}
	p, err := PackageOf(c, o.Catalog, o.Package)
	if err == nil && o.Channel != "" {
		err = CheckChannel(p, o.Channel)
	}
	if err != nil {
		return nil, err
	}
	return []*catalog.Package{p}, nil
}

// PackageOf returns a package of a catalog, or an error with similar names. arg names the catalog.
func PackageOf(c *catalog.Catalog, arg, name string) (*catalog.Package, error) {
	if p := c.Package(name); p != nil {
		return p, nil
	}
	return nil, UnknownPackage(name, c.Names, arg, "gantry catalog list "+arg+" shows its packages")
}

// UnknownPackage returns the error for a package that is not among names, with similar ones or the hint.
func UnknownPackage(name string, names []string, where, hint string) error {
	return env.InputHint(cmp.Or(suggest.Phrase(name, names), hint), "package %q is not in %s", name, where)
}

// CheckChannel returns an error with similar names if a package does not have a channel.
func CheckChannel(p *catalog.Package, name string) error {
	if p.Channel(name) != nil {
		return nil
	}
	names := elements.Map(p.Channels, func(c *catalog.Channel) string { return c.Name })
	hint := cmp.Or(suggest.Phrase(name, names), "it has "+strings.Join(names, ", "))
	return env.InputHint(hint, "package %q has no channel %q", p.Name, name)
}

// CatalogOf returns a catalog without a tag with the tag that catalogs have for a minor version of
// OpenShift: registry.example.com/catalog:v4.20. A catalog with a tag or digest is an error.
func CatalogOf(catalog, version string) (string, error) {
	if !updates.MinorVersion().MatchString(version) {
		return "", env.InputHint("give the version of OpenShift as 4.20", "Options.Version %q", version)
	}
	ref, err := reference.Parse(strings.TrimPrefix(catalog, env.RegistryScheme))
	switch {
	case err != nil:
		return "", env.InputHint("leave it out", "Options.Version is for a catalog in a registry, and %s is none: %w", redact.Address(catalog), err)
	case ref.Tag != "" || ref.Digest != "":
		return "", env.InputHint("leave it out", "Options.Version is for a catalog without a tag, and %s has one", catalog)
	}
	return catalog + ":v" + version, nil
}

// CatalogVersions returns the minor versions of OpenShift for which there are catalogs, newest first:
// the tags of the first of the catalogs that OpenShift configures.
func CatalogVersions(ctx context.Context, o CatalogsOptions) ([]string, error) {
	e, done := o.Env.OrDefault()
	defer done()
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	tags, err := r.Origin.Tags(ctx, defaultCatalogs[0]+":latest")
	if err != nil {
		return nil, fmt.Errorf("listing the tags of %s: %w", defaultCatalogs[0], err)
	}
	var versions []updates.Minor
	for _, tag := range tags {
		if v, ok := strings.CutPrefix(tag, "v"); ok {
			if m, ok := updates.ParseMinor(v); ok {
				versions = append(versions, m)
			}
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("%s has no tag of a version, such as v4.20", defaultCatalogs[0])
	}
	elements.Sort(versions, func(a, b updates.Minor) int { return b.Compare(a) })
	names := elements.Map(slices.Compact(versions), func(m updates.Minor) string { return m.String() })
	return names, nil
}

// defaultCatalogs are the catalogs that OpenShift configures (OperatorHub defaults), without tag.
var defaultCatalogs = [...]string{
	"registry.redhat.io/redhat/redhat-operator-index",
	"registry.redhat.io/redhat/certified-operator-index",
	"registry.redhat.io/redhat/community-operator-index",
	"registry.redhat.io/redhat/redhat-marketplace-index",
}

// Beside returns the other catalogs that OpenShift configures, if a catalog is one of them or a copy: those of the same
// folder of the registry with the same tag.
func Beside(catalog string) (others []string) {
	ref, err := reference.Parse(catalog)
	if err != nil || ref.Tag == "" {
		return nil
	}
	isOne := false
	for _, name := range defaultCatalogs {
		other := reference.Reference{Host: ref.Host, Path: path.Join(path.Dir(ref.Path), path.Base(name)), Tag: ref.Tag}
		if other.Path == ref.Path {
			isOne = true
		} else {
			others = append(others, other.String())
		}
	}
	if !isOne {
		return nil
	}
	return others
}

// CatalogsOptions says which catalogs Catalogs looks for.
type CatalogsOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Version is a minor version of OpenShift, such as "4.20".
	Version string
}

// Catalogs returns the catalogs that OpenShift configures and that exist for a version. It is an error
// of kind Input if there are none. It is also an error if a request fails.
func Catalogs(ctx context.Context, o CatalogsOptions) ([]string, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if !updates.MinorVersion().MatchString(o.Version) {
		return nil, env.InputHint("give the version of OpenShift as 4.20", "Options.Version %q", o.Version)
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	var found []string
	var problems []error
	for _, name := range defaultCatalogs {
		ref := name + ":v" + o.Version
		switch _, _, err := r.Origin.Manifest(ctx, ref, ""); {
		case err == nil:
			found = append(found, ref)
		case !errors.Is(err, remote.ErrNotFound):
			problems = append(problems, fmt.Errorf("looking for %s: %w", ref, err))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if len(found) == 0 {
		return nil, env.InputHint("check that OpenShift "+o.Version+" was released", "Options.Version %s: registry.redhat.io has no catalogs for this version", o.Version)
	}
	return found, nil
}
