// Package workspace keeps what a run leaves for the next one.
//
// A workspace is a folder of plain files:
//
//	lock                 who works here now: process, host, since
//	cache/               manifests and blobs by digest, an OCI layout
//	cluster-resources/   the manifests to apply; of further mirrors in
//	                     cluster-resources-MIRROR/
//	plans/               the last plan of each configuration
//	configurations.json  where the configuration of each name lies
//	mirrors/             what each mirror holds, by configuration
//	archives/            which archives were written, by name, and what a site has
//	                     that imported them
//	receipts/            what each mirror has of archives, by name
//	imported/            the plans of the archives that each mirror had last
//	secret               by which encrypted archives are known again
//	journal/             blobs of a run that was not finished
//
// Everything is written whole or not at all. The cache may be removed at any
// time: what is in it is found again by its digest, and checked when it is read.
package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
func (w *Workspace) CacheDir() string { return CacheDir(w.dir) }

// CacheDir is the folder of the cache of the workspace in dir, which need not
// exist. Several runs may use a cache at the same time, also without the
// workspace's lock: what is in it is written whole and named by its digest.
func CacheDir(dir string) string { return filepath.Join(dir, "cache") }

// SavePlan keeps the JSON of a plan, which write writes, under its name.
func (w *Workspace) SavePlan(name string, write func(io.Writer) error) error {
	return w.disk.Write("plans/"+name+".json", write)
}
