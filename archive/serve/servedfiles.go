package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// servedList is a file in the folder of Options.Resources that lists the files that Serve
// wrote there. Files that are not listed belong to the user. oc apply does not read it.
const servedList = ".gantry-resources"

// maxServedList is the maximum size of that file in bytes.
const maxServedList = 16 << 20

// maxServed is how many bytes of a manifest are read.
const maxServed = 4 << 20

// readServed reads the files that an earlier run wrote to a folder and that still exist.
func readServed(dir string) (files []resources.File, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	text, err := regular.Read(root, servedList, maxServedList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(string(text)) {
		if text, err := regular.Read(root, name, maxServed); err == nil && filepath.IsLocal(name) {
			files = append(files, resources.File{Name: name, Text: text})
		}
	}
	return files, nil
}

// saveServed writes files to a folder and removes those of an earlier run that are no longer among
// them.
func saveServed(dir string, files []resources.File) (removed []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	disk := durable.Folder{Root: root}
	text, err := regular.Read(root, servedList, maxServedList)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	earlier := strings.Fields(string(text))
	names := resources.FileNames(files)
	list := func(names []string) error {
		names = slices.Compact(slices.Sorted(slices.Values(names)))
		return disk.WriteFile(servedList, []byte(strings.Join(names, "\n")+"\n"))
	}
	// The list is written first: a file that is not listed would never be removed.
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
