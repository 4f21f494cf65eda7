package authoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// FilterOptions says which catalogs FilterCatalogs filters and where it writes them.
type FilterOptions struct {
	Env *env.Env
	// Selection is the configuration, and what clusters run. Config is required.
	selection.Selection
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// OutputDir is the folder for the filtered catalogs. It is required.
	OutputDir string
	// Files is the format of the files: folder.JSON, the default, or folder.YAML.
	Files folder.Form
	// Images is a file for the images that the catalogs name, one per line. The default is none.
	Images string
}

// A FilterResult is the result of FilterCatalogs. Its JSON is what gantry catalog filter --output json
// prints.
type FilterResult struct {
	Version  int               `json:"version"`
	Catalogs []FilteredCatalog `json:"catalogs"`
	// Images are the images that the catalogs name, sorted.
	Images []string `json:"images"`
	Notes  []string `json:"notes"`
}

// A FilteredCatalog is the result for one catalog.
type FilteredCatalog struct {
	Source       string         `json:"source"`
	SourceDigest string         `json:"sourceDigest,omitempty"`
	Folder       string         `json:"folder"`
	Packages     []plan.Package `json:"packages"`
	// Catalog is the catalog as plans describe it.
	Catalog plan.Catalog `json:"-"`
}

// FilterCatalogs applies a configuration to its catalogs and writes each result to a folder of
// file-based catalog files in OutputDir, named like the catalog. A folder appears only when it is
// complete. No images are resolved.
func FilterCatalogs(ctx context.Context, o FilterOptions) (*FilterResult, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.OutputDir == "" {
		return nil, env.InputHint("give a folder for the catalogs", "Options.OutputDir is missing")
	}
	if o.Config == "" {
		return nil, env.InputHint("set Options.Config to an ImageSetConfiguration", "no configuration")
	}
	if err := checkForm(o.Files); err != nil {
		return nil, err
	}
	selected, err := listing.LoadOperators(&o.Selection, e)
	if err != nil {
		return nil, err
	}
	names := folderNames(selected.Config.Mirror.Operators)
	for _, name := range names {
		if err := folder.Check(filepath.Join(o.OutputDir, name)); err != nil {
			return nil, foreignFolder(err)
		}
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	minAge, err := o.MinAgeOf(selected.Config)
	if err != nil {
		return nil, err
	}
	selection, err := build.Select(ctx, selected.Config, r.Plan(), build.Options{Log: e.Logger(), Warn: func(text string) { e.Warnf("%s", text) }, Installed: selected.Clusters, Now: time.Now(), MinAge: minAge})
	if err != nil {
		return nil, err
	}
	result := &FilterResult{Version: 1, Catalogs: []FilteredCatalog{}, Images: imagesOf(selection), Notes: append([]string{}, selection.Notes...)}
	for i, s := range selection.Catalogs {
		dir := filepath.Join(o.OutputDir, names[i])
		if err := folder.Write(ctx, dir, s.Result.Catalog, cmp.Or(o.Files, folder.JSON)); err != nil {
			return nil, foreignFolder(err)
		}
		result.Catalogs = append(result.Catalogs, FilteredCatalog{
			Source: s.Catalog.Source, SourceDigest: s.Catalog.SourceDigest.String(), Folder: dir,
			Packages: s.Catalog.Packages, Catalog: s.Catalog,
		})
	}
	if o.Images != "" {
		var text strings.Builder
		for _, image := range result.Images {
			text.WriteString(image + "\n")
		}
		if err := durable.WriteFile(o.Images, []byte(text.String())); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// foreignFolder gives the errors of folders that must not be replaced the kind Input.
func foreignFolder(err error) error {
	if errors.Is(err, folder.ErrForeign) || errors.Is(err, folder.ErrBusy) {
		return advice.Wrap(advice.Input, err, "")
	}
	return err
}

// imagesOf returns the images that the filtered catalogs name, sorted, without duplicates.
func imagesOf(s *build.Selection) []string {
	images := map[string]bool{}
	for _, c := range s.Catalogs {
		for _, p := range c.Result.Catalog.Packages {
			for _, b := range p.Bundles {
				images[b.Image] = true
				for _, r := range b.RelatedImages {
					images[r.Image] = true
				}
			}
		}
	}
	delete(images, "")
	return append([]string{}, slices.Sorted(maps.Keys(images))...)
}

// folderNames returns a folder name for each catalog: the last component of its target or source,
// with the tag. Catalogs with the same name get a number.
func folderNames(catalogs []imageset.Operator) []string {
	names, count := make([]string, len(catalogs)), map[string]int{}
	for i, c := range catalogs {
		source, _, _ := strings.Cut(c.Catalog, "@")
		name, tag, _ := strings.Cut(path.Base(source), ":")
		if c.TargetCatalog != "" {
			name, tag = path.Base(c.TargetCatalog), ""
		}
		names[i] = env.SafeName(strings.TrimSuffix(name+"-"+cmp.Or(c.TargetTag, tag), "-"))
		count[names[i]]++
	}
	for i, name := range names {
		if count[name] == 1 {
			continue
		}
		for names[i] = name; count[names[i]] > 0; {
			names[i] += fmt.Sprintf("-%d", i+1)
		}
		count[names[i]]++
	}
	return names
}
