package archive

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A FileInfo is a file of a set.
type FileInfo struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes
}

// Files returns the files of a set in a folder, by name: its volumes, its set manifest, and what
// belongs to that. Repairs of the set are not among them.
func Files(dir string, sequence int) (files []FileInfo, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the files of an archive: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	l, err := list(root)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	for _, name := range slices.Concat(l.files[sequence], l.volumesOf(root, sequence)) {
		if id, _, _ := parseName(name); id.repair {
			continue
		}
		info, err := root.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("listing the files of an archive: %w", err)
		}
		files = append(files, FileInfo{name, info.Size()})
	}
	elements.Sort(files, func(a, b FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}
