// Package workspace keeps what a run leaves for the next one.
//
// A workspace is a folder of plain files:
//
//	lock                 who works here now: process, host, since
//	cache/               manifests and blobs by digest, an OCI layout
//	cluster-resources/   the manifests to apply
//	plans/               the last plan of each configuration
//	mirrors/             what each mirror holds, by configuration
//	journal/             blobs of a run that was not finished
//
// Everything is written whole or not at all. The cache may be removed at any
// time: what is in it is found again by its digest, and checked when it is read.
package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
)

// A Workspace is a folder that this process holds. Close lets go of it.
type Workspace struct {
	dir  string
	disk durable.Folder // dir
	lock *lockfile.Lock
}

// Open makes or opens the workspace in dir and locks it. Another process that
// holds it is a *lockfile.HeldError.
func Open(dir string) (*Workspace, error) {
	for _, d := range []string{dir, filepath.Join(dir, "plans"), filepath.Join(dir, "mirrors"), filepath.Join(dir, "journal")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("making workspace %s: %w", dir, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace %s: %w", dir, err)
	}
	l, err := lockfile.Acquire(root, "lock")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening workspace %s: %w", dir, err), root.Close())
	}
	return &Workspace{dir: dir, disk: durable.Folder{Root: root}, lock: l}, nil
}

// Close lets go of the workspace.
func (w *Workspace) Close() error { return errors.Join(w.lock.Release(), w.disk.Root.Close()) }

// CacheDir is the folder of the cache.
func (w *Workspace) CacheDir() string { return filepath.Join(w.dir, "cache") }

// ResourcesDir is the folder of the manifests to apply.
func (w *Workspace) ResourcesDir() string { return filepath.Join(w.dir, resourceDir) }

// SavePlan keeps the JSON of a plan under its name and returns the path.
func (w *Workspace) SavePlan(name string, json []byte) (string, error) {
	name = "plans/" + name + ".json"
	return filepath.Join(w.dir, name), w.disk.WriteFile(name, json)
}

// A File is a manifest to apply.
type File struct {
	Name string
	Text []byte
}

const (
	resourceDir = "cluster-resources"
	// resourceList names the files in there that Gantry wrote; others are
	// somebody else's.
	resourceList = "cluster-resources.txt"
)

// SaveResources makes the files the content of cluster-resources/. Files of an
// earlier run that are not among them are removed and returned.
func (w *Workspace) SaveResources(files []File) (removed []string, err error) {
	root := w.disk.Root
	if err := root.MkdirAll(resourceDir, 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", w.ResourcesDir(), err)
	}
	text, err := root.ReadFile(resourceList)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the list of earlier resources: %w", err)
	}
	earlier := strings.Fields(string(text))
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	// The list comes first: a file that is on it and was never written harms
	// nobody, one that is not on it would stay forever.
	all := append(slices.Clone(earlier), names...)
	slices.Sort(all)
	if err := w.listResources(slices.Compact(all)); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := w.disk.WriteFile(resourceDir+"/"+f.Name, f.Text); err != nil {
			return nil, err
		}
	}
	for _, name := range earlier {
		if slices.Contains(names, name) || !filepath.IsLocal(name) {
			continue
		}
		switch err := root.Remove(resourceDir + "/" + name); {
		case err == nil:
			removed = append(removed, name)
		case !errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("removing a resource that no longer applies: %w", err)
		}
	}
	slices.Sort(names)
	return removed, w.listResources(names)
}

func (w *Workspace) listResources(names []string) error {
	return w.disk.WriteFile(resourceList, []byte(strings.Join(append(names, ""), "\n")))
}
