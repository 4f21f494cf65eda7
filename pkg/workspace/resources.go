package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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

// resourcesOf finds the folder for a mirror and what is listed of it.
func (w *Workspace) resourcesOf(mirror string) (dir string, earlier []string, err error) {
	for _, dir := range []string{resourceDir, resourceDir + "-" + mirror} {
		text, err := w.disk.Root.ReadFile(dir + ".txt")
		if errors.Is(err, os.ErrNotExist) {
			return dir, nil, nil
		}
		if err != nil {
			return "", nil, fmt.Errorf("reading the list of earlier resources: %w", err)
		}
		if lines := strings.Fields(string(text)); len(lines) > 0 && lines[0] == mirror {
			return dir, lines[1:], nil
		}
	}
	return "", nil, fmt.Errorf("%s-%s.txt in the workspace is not the list of that folder: remove it", resourceDir, mirror)
}

// SaveResources makes the files the manifests for a mirror, which is named as in
// Holdings, and returns the folder that they are in. Files that have their text
// already stay untouched; those of an earlier run that are not among them are
// removed and returned.
func (w *Workspace) SaveResources(mirror string, files []File) (dir string, removed []string, err error) {
	root := w.disk.Root
	dir, earlier, err := w.resourcesOf(mirror)
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
		if err := w.replace(dir+"/"+f.Name, f.Text); err != nil {
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
