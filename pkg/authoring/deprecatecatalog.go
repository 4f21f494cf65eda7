package authoring

import (
	"context"
	"os"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/author"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// DeprecateOptions says what DeprecateCatalog marks as deprecated.
type DeprecateOptions struct {
	// Folder is a folder with a file-based catalog.
	Folder string
	// Package is the package. Target is the channel or bundle of it, or the zero value for the package
	// itself.
	Package string
	Target  author.Target
	// Message is for users. An empty one removes the deprecation.
	Message string
}

// DeprecateCatalog adds, replaces or removes an entry of olm.deprecations in the files of a catalog.
// Other objects do not change.
func DeprecateCatalog(ctx context.Context, o DeprecateOptions) error {
	root, err := os.OpenRoot(o.Folder)
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	defer root.Close() // only read from
	c, err := catalog.Read(ctx, regular.FS(root), catalog.Options{Keep: func(pkg string) bool { return pkg == o.Package }})
	if err != nil {
		return err
	}
	p, err := listing.PackageOf(c, o.Folder, o.Package)
	if err != nil {
		return err
	}
	if len(p.Metas) == 0 {
		return env.Inputf("package %q has no olm.package object in %s", o.Package, o.Folder)
	}
	before, after, err := author.Deprecate(p, o.Target, o.Message)
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	return folder.Edit(o.Folder, before, after, p.Metas[0])
}
