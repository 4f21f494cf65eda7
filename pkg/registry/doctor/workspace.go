package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Limits of what is fine.
const (
	littleSpace = 10 << 30
	slowSync    = 200 * time.Millisecond
)

// Workspace looks at the disk of a folder, which need not exist, and syncs a small file there. now
// returns the time.
func Workspace(dir string, now func() time.Time) []Finding {
	at := func(name string, state State, text, remedy string) Finding {
		return Finding{Area: "workspace", Name: name, State: state, Text: text, Remedy: remedy}
	}
	existing, err := nearest(dir)
	if err != nil {
		return []Finding{at("folder", Problem, err.Error(), "set Options.Workspace to a folder that can be written to")}
	}
	var all []Finding
	free, err := space.Free(existing)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		all = append(all, at("free space", Skipped, "this operating system does not report it", ""))
	case err != nil:
		all = append(all, at("free space", Problem, err.Error(), "check the disk"))
	case free < littleSpace:
		all = append(all, at("free space", Warning, fmt.Sprintf("%s at %s", progress.Bytes(free), dir), "catalogs and what is built need some space; archives need as much as their content"))
	default:
		all = append(all, at("free space", OK, fmt.Sprintf("%s at %s", progress.Bytes(free), dir), ""))
	}
	if f, ok := fileSystem(existing); ok {
		all = append(all, f)
	}
	took, err := syncFile(existing, now)
	switch {
	case err != nil:
		all = append(all, at("writing", Problem, err.Error(), "set Options.Workspace to a folder that can be written to"))
	case took > slowSync:
		all = append(all, at("writing", Warning, fmt.Sprintf("syncing a small file took %s", took.Round(time.Millisecond)), "use a faster disk for the workspace"))
	default:
		all = append(all, at("writing", OK, fmt.Sprintf("a small file was written and synced in %s", took.Round(100*time.Microsecond)), ""))
	}
	return all
}

// fileSystem returns the finding about the file system of a folder. ok is false if it is unknown.
func fileSystem(dir string) (f Finding, ok bool) {
	kind, err := space.FileSystem(dir)
	if err != nil {
		return f, false
	}
	return adviseFileSystem(kind), true
}

// adviseFileSystem returns the finding about a kind of file system.
func adviseFileSystem(kind string) Finding {
	f := Finding{Area: "workspace", Name: "file system", State: OK, Text: kind}
	switch kind {
	case "nfs", "cifs", "smb2", "fuse", "9p":
		f.State, f.Remedy = Warning, "use a local disk; locks and syncing depend on the server there"
	case "vfat", "exfat":
		f.State, f.Remedy = Warning, "use a file system with permissions; vfat also limits files to 4 GiB"
	case "tmpfs", "ramfs":
		f.State, f.Remedy = Warning, "use a disk: this is lost with the next boot, and with it what archives of this workspace omit"
	}
	return f
}

// nearest returns the folder, or its nearest parent that exists.
func nearest(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir():
			return at, nil
		case err == nil:
			return "", fmt.Errorf("%s is not a folder", at)
		case !errors.Is(err, os.ErrNotExist) || filepath.Dir(at) == at:
			return "", err
		}
		at = filepath.Dir(at)
	}
}

// syncFile writes, syncs and removes a small file, and returns how long it took.
func syncFile(dir string, now func() time.Time) (took time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".gantry-probe-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	start := now()
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	return now().Sub(start), nil
}
