package image

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ConfigsLabel is the label of an image whose value is the directory of its
// file-based catalog.
const ConfigsLabel = "operators.operatorframework.io.index.configs.v1"

const (
	databaseLabel = "operators.operatorframework.io.index.database.v1"
	bundleLabel   = "operators.operatorframework.io.bundle.package.v1"
)

// What Open says of an image that is no file-based catalog.
var (
	ErrSQLite    = errors.New("the image is an SQLite catalog (label " + databaseLabel + "), which is not supported yet: use a file-based catalog, the form of all catalogs since OpenShift 4.11")
	ErrBundle    = errors.New("the image is an operator bundle, not a catalog: name the catalog that lists it, or mirror it under additionalImages")
	ErrNoCatalog = errors.New("the image is no catalog (no label " + ConfigsLabel + ")")
)

// findCatalog takes the catalog's directory from the labels, which must agree,
// and the directories of opm's cache from the commands.
func (i *Image) findCatalog() error {
	first := i.primary()
	value, ok := first.labels[ConfigsLabel]
	if !ok {
		return missingLabel(first.labels)
	}
	for _, p := range i.platforms {
		other, ok := p.labels[ConfigsLabel]
		if !ok {
			return fmt.Errorf("reading the labels of %s: %w", p, missingLabel(p.labels))
		}
		if other != value {
			return fmt.Errorf("the platforms disagree on label %s: %q for %s, %q for %s", ConfigsLabel, value, first, other, p)
		}
	}
	dir, err := cleanName(value)
	if err != nil {
		return fmt.Errorf("reading label %s: %w", ConfigsLabel, err)
	}
	if dir == "" {
		return fmt.Errorf("label %s is %q: the catalog must have a directory of its own", ConfigsLabel, value)
	}
	i.dir = dir
	for _, p := range i.platforms {
		if cache := p.cacheDir(dir); cache != "" && !slices.Contains(i.caches, cache) {
			i.caches = append(i.caches, cache)
		}
	}
	slices.Sort(i.caches)
	return nil
}

func missingLabel(labels map[string]string) error {
	if _, ok := labels[databaseLabel]; ok {
		return ErrSQLite
	}
	if _, ok := labels[bundleLabel]; ok {
		return ErrBundle
	}
	return ErrNoCatalog
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
