// Package state keeps what a run leaves for the next run, and for the other side of an air gap.
//
// Everything is in a [Workspace], a folder of plain files that one run uses at a time:
//
//	lock                 the run that uses the workspace: process, host, start
//	cache/               manifests and blobs by digest, an OCI layout, and parsed catalogs
//	cluster-resources/   the manifests to apply to clusters; those of a second mirror are in
//	                     cluster-resources-MIRROR/
//	plans/               the last plan of each image set
//	configurations.json  the path of the configuration of each image set
//	mirrors/             the content of each mirror, by image set: a [Record]
//	recorded.json        which of these records the mirror itself has: a [RecordedSet]
//	archives/            the archives that were written, by image set: an [Export], and the
//	                     [Receipt] of a site that imported it
//	receipts/            what each mirror has of imported archives, by image set: a [Receipt]
//	imported/            the last imported plan of each mirror and image set
//	layout               the layout of cluster-resources/ and of archives, see [FileLayout]
//	suffixes.json        the suffix in the names of each mirror's objects
//	runs.json            the last run of each destination and image set: a [Run]
//	secret               recognizes what an earlier run encrypted
//	audit.ndjson         what runs did, see package audit; audit-head.json is its last entry
//	leases.json          the last lease that a run of this workspace had of each mirror
//	journal/             the blobs and the open uploads of an unfinished run
//	SHA256SUMS           the checksums of plans, configurations.json, runs.json, recorded.json, leases.json, audit-head.json,
//	                     suffixes.json, layout, records, histories, receipts and of the lists of manifests
//
// Every file is written completely or not at all. A file with a checksum is verified when it is
// read; if it was altered, the error matches [errAltered]. Files without one were written by an older
// version. The cache may be deleted at any time: its content is addressed by digest and checked when
// it is read. The journal needs no checksum, since what it lists is requested from the mirror, and
// neither does the secret: with another one, an unfinished archive is written from the start.
//
// Receipts and [RepairRequest]s also travel between sites. Their readers therefore accept at most a
// fixed number of bytes and no unknown fields.
package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
)

// A Workspace is a workspace folder that this process has locked. Close unlocks it.
type Workspace struct {
	dir  string
	disk durable.Folder // dir
	sums *checksums
	lock *lockfile.Lock
	// layout is the one of files that are written.
	layout FileLayout
	// decoded are the records that were read last, by mirror.
	decoded map[string]decodedRecords

	// OnDamage, if set, is called for a state file that is replaced and was altered or damaged: a plan, leases.json
	// or runs.json, which a run need not read.
	OnDamage func(name string)
}

// Open opens the workspace in dir, which it creates if necessary, and locks it. If another process
// uses the workspace, the error is a *lockfile.LockedError.
func Open(dir string) (*Workspace, error) {
	for _, d := range []string{dir, filepath.Join(dir, "plans"), filepath.Join(dir, "mirrors"), filepath.Join(dir, "journal")} {
		if err := durable.MkdirAll(d, 0o755); err != nil {
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
	disk := durable.Folder{Root: root}
	sums, err := readChecksums(disk)
	if err != nil {
		return nil, errors.Join(err, l.Release(), root.Close())
	}
	sweep(disk)
	w := &Workspace{dir: dir, disk: disk, sums: sums, lock: l}
	if w.layout, err = w.Layout(); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", filepath.Join(dir, layoutFile), err), l.Release(), root.Close())
	}
	return w, nil
}

// sweep deletes the temporary files of killed runs, except for those in the cache, which other runs
// may use at the same time. What cannot be deleted does no harm.
func sweep(disk durable.Folder) {
	_ = fs.WalkDir(disk.Root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir(), name == "cache":
			return fs.SkipDir
		case err == nil && d.IsDir():
			_ = disk.Sweep(name, time.Now().Add(time.Hour))
		}
		return nil
	})
}

// Close unlocks the workspace.
func (w *Workspace) Close() error {
	return errors.Join(w.sums.close(), w.lock.Release(), w.disk.Root.Close())
}

// CacheDir returns the folder of the cache.
func (w *Workspace) CacheDir() string { return CacheDir(w.dir) }

// CacheDir returns the cache folder of the workspace in dir, which need not exist. Several runs may
// use a cache at the same time, even without the lock of the workspace: every file is written
// completely and named by its digest.
func CacheDir(dir string) string { return filepath.Join(dir, "cache") }

// SavePlan saves the JSON of the plan of an image set, as write writes it.
func (w *Workspace) SavePlan(name string, write func(io.Writer) error) error {
	return w.keep("plans/"+name+".json", write)
}

// OpenPlan opens the last plan of an image set.
func (w *Workspace) OpenPlan(name string) (fs.File, error) {
	return w.open("plans/" + name + ".json")
}

// open opens a state file of the workspace.
func (w *Workspace) open(name string) (fs.File, error) {
	f, err := w.openState(name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", filepath.Join(w.dir, name), err)
	}
	return f, nil
}
