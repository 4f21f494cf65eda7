package image

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ConfigsLabel is the label of an image whose value is the directory of its
// file-based catalog.
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

// ErrNoCatalog is what Open says of an image that is neither a catalog nor a
// bundle.
var ErrNoCatalog = errors.New("the image is no catalog (no label " + ConfigsLabel + ")")

// readLabels finds out what the image is and where its content lies: by the
// labels, on which the platforms must agree.
func (i *Image) readLabels() error {
	labels := i.primary().labels
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

// label is the path that a label names, without slash in front. ok is false
// where no platform has the label.
func (i *Image) label(key string) (name string, ok bool, err error) {
	first := i.primary()
	value, ok := first.labels[key]
	for _, p := range i.others() {
		other, has := p.labels[key]
		if has != ok || other != value {
			return "", false, fmt.Errorf("the platforms disagree on label %s: %s for %s, %s for %s",
				key, quotedLabel(value, ok), first, quotedLabel(other, has), p)
		}
	}
	if name, err = cleanName(value); err != nil {
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

// findCatalog takes the catalog's directory from the label, and the directories
// of opm's cache from the commands.
func (i *Image) findCatalog() (err error) {
	if i.dir, _, err = i.label(ConfigsLabel); err != nil {
		return err
	}
	if i.dir == "" {
		return fmt.Errorf("label %s names the root: the catalog must have a directory of its own", ConfigsLabel)
	}
	for _, p := range i.platforms {
		if cache := p.cacheDir(i.dir); cache != "" && !slices.Contains(i.caches, cache) {
			i.caches = append(i.caches, cache)
		}
	}
	slices.Sort(i.caches)
	return nil
}

// findDatabase takes the database's path from the label.
func (i *Image) findDatabase() (err error) {
	if i.database, _, err = i.label(databaseLabel); err != nil {
		return err
	}
	if i.database == "" {
		return fmt.Errorf("label %s names the root, not a file", databaseLabel)
	}
	return nil
}

// findTrees takes the directories of a bundle from the labels.
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
			return fmt.Errorf("label %s names the root: the %s must have a directory of their own", t.label, t.name)
		}
		i.trees = append(i.trees, bundleTree{dir: dir, name: t.name})
	}
	return nil
}

// cacheDir is the directory in which opm finds a cache of the catalog in dir:
// what the command names, else the place that opm's own Dockerfile uses. It is
// "" where the image runs another program, whose files are its own affair, and
// where the name cannot be meant: nothing that holds the catalog or the program
// is a cache.
func (p *platform) cacheDir(dir string) string {
	cache := "tmp/cache"
	switch {
	case p.command.isOpm():
		if named := p.command.cacheDir(); named != "" {
			var err error
			if cache, err = cleanName(absolute(p.workingDir, named)); err != nil {
				return ""
			}
		}
		program, err := cleanName(p.command.argv()[0])
		if err != nil || isBelow(program, cache) {
			return ""
		}
	case len(p.command.argv()) > 0:
		return ""
	}
	if isBelow(dir, cache) || isBelow(cache, dir) {
		return ""
	}
	return cache
}

// cleanName gives a name in an image as a path below its root: without slash in
// front, "" for the root itself. A name with ".." could mean a place outside.
func cleanName(name string) (string, error) {
	if strings.Contains(name, "..") && slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("the name %.200q points upwards", name)
	}
	return path.Clean("/" + name)[1:], nil
}

// isBelow says that name is dir or below it. Every name is below the root, "".
func isBelow(name, dir string) bool {
	return dir == "" || name == dir || len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir
}

// parent is the directory that holds name; the root's is the root.
func parent(name string) string {
	if n := strings.LastIndexByte(name, '/'); n > 0 {
		return name[:n]
	}
	return ""
}
