package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sequences returns the sequences of the set manifests in the folders dirs, in ascending order and
// each once, and of volumes without a set manifest. It does not read the manifests. If there are none, the error wraps fs.ErrNotExist.
func Sequences(dirs ...string) ([]int, error) {
	var all []int
	var lists []*listing
	for _, dir := range dirs {
		l, err := listDir(dir)
		if err != nil {
			return nil, fmt.Errorf("looking for archives in %s: %w", dir, err)
		}
		lists = append(lists, l)
		all = append(all, l.sets...)
	}
	all = append(all, unlisted(lists, nil)...)
	if len(all) == 0 {
		return nil, fmt.Errorf("looking for archives in %s: %w", strings.Join(dirs, ", "), whyNotFound(lists))
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func listDir(dir string) (l *listing, err error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return listWithVolumes(root, 0)
}
