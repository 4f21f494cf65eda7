package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// servedList lists, in the folder of --resources, the files that gantry serve wrote
// there. oc apply does not read it, and other files are somebody else's.
const servedList = ".gantry-resources"

// saveServed makes the files those of a folder and removes the ones of an earlier run
// that are not among them.
func saveServed(dir string, files []resources.File) (removed []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	disk := durable.Folder{Root: root}
	text, err := root.ReadFile(servedList)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	earlier := strings.Fields(string(text))
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	list := func(names []string) error {
		names = slices.Compact(slices.Sorted(slices.Values(names)))
		return disk.WriteFile(servedList, []byte(strings.Join(names, "\n")+"\n"))
	}
	// The list comes first: a file that is not on it would stay forever.
	if err := list(slices.Concat(earlier, names)); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := disk.WriteFile(f.Name, f.Text); err != nil {
			return nil, err
		}
	}
	for _, name := range earlier {
		if slices.Contains(names, name) || !filepath.IsLocal(name) {
			continue
		}
		switch err := root.Remove(name); {
		case err == nil:
			removed = append(removed, name)
		case !errors.Is(err, fs.ErrNotExist):
			return removed, fmt.Errorf("removing a manifest that no longer applies: %w", err)
		}
	}
	return removed, list(names)
}
