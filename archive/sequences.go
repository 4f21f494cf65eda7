package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sequences are the numbers of the sets whose set manifests lie in the folders dirs,
// rising, each once. What the manifests say is not looked at. Folders without any
// are an error that wraps fs.ErrNotExist.
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
	if len(all) == 0 {
		return nil, fmt.Errorf("looking for archives in %s: %w", strings.Join(dirs, ", "), absent(lists))
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
	return list(root)
}
