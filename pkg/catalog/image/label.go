package image

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// ConfigsLabel is the label with the directory of a file-based catalog.
const ConfigsLabel = "operators.operatorframework.io.index.configs.v1"

// The labels of the other kinds of image: the database of an SQLite index, and
// the package and the directories of a bundle (operator-registry,
// docs/design/operator-bundle.md).
const (
	databaseLabel  = "operators.operatorframework.io.index.database.v1"
	bundleLabel    = "operators.operatorframework.io.bundle.package.v1"
	manifestsLabel = "operators.operatorframework.io.bundle.manifests.v1"
	metadataLabel  = "operators.operatorframework.io.bundle.metadata.v1"
)

// ErrNoCatalog is the error of Open for an image that is neither a catalog nor a bundle.
var ErrNoCatalog = errors.New("the image is neither a catalog nor a bundle (no label " + ConfigsLabel + " or " + manifestsLabel + ")")

// readLabels sets kind and location of the content from the labels, which must be the same for all
// platforms.
func (i *Image) readLabels() error {
	labels := i.image.Primary().Labels
	var read func() error
	switch {
	case labels[ConfigsLabel] != "":
		i.kind, read = FileBased, i.findCatalog
	case labels[databaseLabel] != "":
		i.kind, read = SQLite, i.findDatabase
	case labels[bundleLabel] != "", labels[manifestsLabel] != "":
		i.kind, read = Bundle, i.findTrees
	default:
		return ErrNoCatalog
	}
	return read()
}

// label returns the path in a label, without a leading slash. ok is false if no platform has the label.
func (i *Image) label(key string) (name string, ok bool, err error) {
	first := i.image.Primary()
	value, ok := first.Labels[key]
	for _, p := range i.image.Others() {
		other, has := p.Labels[key]
		if has != ok || other != value {
			return "", false, fmt.Errorf("the platforms have different values of label %s: %s for %s, %s for %s",
				key, quotedLabel(value, ok), first, quotedLabel(other, has), p)
		}
	}
	if name, err = image.CleanPath(value); err != nil {
		return "", false, fmt.Errorf("reading label %s: %w", key, err)
	}
	return name, ok, nil
}

func quotedLabel(value string, ok bool) string {
	if !ok {
		return "none"
	}
	return strconv.Quote(value)
}

// findCatalog sets the catalog's directory from the label, and the directories of opm's cache from the
// commands.
func (i *Image) findCatalog() (err error) {
	if i.dir, _, err = i.label(ConfigsLabel); err != nil {
		return err
	}
	if i.dir == "" {
		return fmt.Errorf("label %s is the root directory; the catalog needs its own directory", ConfigsLabel)
	}
	i.findCaches()
	return nil
}

func (i *Image) findCaches() {
	i.caches = nil
	for _, p := range i.image.Platforms {
		if cache := cacheDir(p, i.dir); cache != "" && !slices.Contains(i.caches, cache) {
			i.caches = append(i.caches, cache)
		}
	}
	slices.Sort(i.caches)
}

// findDatabase sets the database's path from the label.
func (i *Image) findDatabase() (err error) {
	if i.database, _, err = i.label(databaseLabel); err != nil {
		return err
	}
	if i.database == "" {
		return fmt.Errorf("label %s is the root directory, not a file", databaseLabel)
	}
	return nil
}

// findTrees sets the directories of a bundle from the labels.
func (i *Image) findTrees() error {
	for _, t := range []struct{ name, label string }{{"manifests", manifestsLabel}, {"metadata", metadataLabel}} {
		dir, ok, err := i.label(t.label)
		if err != nil {
			return err
		}
		if !ok {
			dir = t.name
		}
		if dir == "" {
			return fmt.Errorf("label %s is the root directory; the %s need their own directory", t.label, t.name)
		}
		i.trees = append(i.trees, bundleTree{dir: dir, name: t.name})
	}
	return nil
}

// cacheDir returns the directory of opm's cache of the catalog in dir: the one of the command, else
// the one of opm's own Dockerfile. It is "" if the image runs another program, and if the directory
// contains the catalog or the program, which is then not a cache.
func cacheDir(p *image.Platform, dir string) string {
	cache, c := "tmp/cache", command(p.Command)
	switch {
	case c.isOpm():
		if named := c.cacheDir(); named != "" {
			var err error
			if cache, err = image.CleanPath(absolute(p.WorkingDir, named)); err != nil {
				return ""
			}
		}
		program, err := image.CleanPath(c.argv()[0])
		if err != nil || image.IsBelow(program, cache) {
			return ""
		}
	case len(c.argv()) > 0:
		return ""
	}
	if image.IsBelow(dir, cache) || image.IsBelow(cache, dir) {
		return ""
	}
	return cache
}
