package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A File is a manifest to apply.
type File struct {
	Name string
	Text []byte
}

// resourceDir is the folder of the manifests for the first mirror of the
// workspace; another mirror's has the mirror's name behind it. Beside each stands
// a list, NAME.txt: the mirror that the folder is for, then the files in it that
// Gantry wrote. Other files are somebody else's.
const resourceDir = "cluster-resources"

// resourcesOf finds the folder for a mirror and what is listed of it, nil where
// nothing was written yet.
func resourcesOf(root *os.Root, mirror string) (dir string, earlier []string, err error) {
	for _, dir := range []string{resourceDir, resourceDir + "-" + mirror} {
		text, err := root.ReadFile(dir + ".txt")
		if errors.Is(err, os.ErrNotExist) {
			return dir, nil, nil
		}
		if err != nil {
			return "", nil, fmt.Errorf("reading the list of earlier resources: %w", err)
		}
		if lines := strings.Fields(string(text)); len(lines) > 0 && lines[0] == mirror {
			return dir, lines[1:len(lines):len(lines)], nil
		}
	}
	return "", nil, fmt.Errorf("%s-%s.txt in the workspace is not the list of that folder: remove it", resourceDir, mirror)
}

// ErrNoResources says that nothing was written for a mirror.
var ErrNoResources = errors.New("there are no cluster resources for it")

// ReadResource reads one of the manifests for a mirror, which is named as in
// Holdings, of the workspace in dir, which need not exist: that is ErrNoResources.
// It takes no lock. path is also returned where the file is not there, which is an
// fs.ErrNotExist.
func ReadResource(dir, mirror, name string) (path string, text []byte, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, ErrNoResources
	}
	if err != nil {
		return "", nil, fmt.Errorf("opening workspace %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	folder, listed, err := resourcesOf(root, mirror)
	switch {
	case err != nil:
		return "", nil, err
	case listed == nil:
		return "", nil, ErrNoResources
	}
	text, err = root.ReadFile(folder + "/" + name)
	return filepath.Join(dir, folder, name), text, err
}

// SaveResources makes the files the manifests for a mirror, which is named as in
// Holdings, and returns the folder that they are in. Names may have folders in
// front. Files that have their text already stay untouched; those of an earlier run
// that are not among them are removed and returned, and so are folders that this
// leaves empty.
func (w *Workspace) SaveResources(mirror string, files []File) (dir string, removed []string, err error) {
	root := w.disk.Root
	dir, earlier, err := resourcesOf(root, mirror)
	if err != nil {
		return "", nil, err
	}
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("making %s: %w", dir, err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	// The list comes first: a file that is on it and was never written harms
	// nobody, one that is not on it would stay forever.
	if err := w.listResources(dir, mirror, slices.Concat(earlier, names)); err != nil {
		return "", nil, err
	}
	for _, f := range files {
		name := dir + "/" + f.Name
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return "", nil, fmt.Errorf("making the folder of %s: %w", name, err)
		}
		if err := w.replace(name, f.Text); err != nil {
			return "", nil, err
		}
	}
	for _, name := range earlier {
		if slices.Contains(names, name) || !filepath.IsLocal(name) {
			continue
		}
		switch err := root.Remove(dir + "/" + name); {
		case err == nil:
			removed = append(removed, name)
			for folder := path.Dir(name); folder != "." && root.Remove(dir+"/"+folder) == nil; {
				folder = path.Dir(folder)
			}
		case !errors.Is(err, os.ErrNotExist):
			return "", nil, fmt.Errorf("removing a resource that no longer applies: %w", err)
		}
	}
	return filepath.Join(w.dir, dir), removed, w.listResources(dir, mirror, names)
}

func (w *Workspace) listResources(dir, mirror string, names []string) error {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return w.replace(dir+".txt", []byte(strings.Join(append([]string{mirror}, names...), "\n")+"\n"))
}

// replace writes a file unless it has that text.
func (w *Workspace) replace(name string, text []byte) error {
	if have, err := w.disk.Root.ReadFile(name); err == nil && bytes.Equal(have, text) {
		return nil
	}
	return w.disk.WriteFile(name, text)
}
