package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// The folders of a workspace that SaveFolder writes and Written reads.
const (
	// ClusterResources has the manifests for clusters.
	ClusterResources = resourceDir
	// HostFiles has the configuration of machines without OpenShift.
	HostFiles = "hosts"
	// InstallFiles has fragments of configurations for installers.
	InstallFiles = "install"
)

// WrittenFiles are the files of one folder that Gantry wrote for a mirror, as they are now.
type WrittenFiles struct {
	// Dir is the path of the folder.
	Dir   string
	Files []resources.File
	// Removed are files that Gantry wrote and that do not exist anymore.
	Removed []string
	// Changed are files that are not as Gantry wrote them. Earlier versions kept no checksums of them.
	Changed []string
}

// Written reads the files of a folder that Gantry wrote for a mirror, without locking the workspace in
// dir. The mirror has the same name as for Records. If the workspace or its folder for the mirror does
// not exist, the error is ErrNoResources.
func Written(dir, folder, mirror string) (w WrittenFiles, err error) {
	root, from, names, err := writtenIn(dir, folder, mirror)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	sums, err := readChecksums(durable.Folder{Root: root})
	if err != nil {
		return w, err
	}
	w.Dir = filepath.Join(dir, from)
	for _, name := range names {
		if !filepath.IsLocal(name) {
			continue
		}
		text, err := regular.Read(root, from+"/"+name, maxResource)
		switch {
		case errors.Is(err, os.ErrNotExist):
			w.Removed = append(w.Removed, name)
		case err != nil:
			return w, fmt.Errorf("reading %s: %w", filepath.Join(w.Dir, name), err)
		default:
			w.Files = append(w.Files, resources.File{Name: name, Text: text})
			if !sums.has(from+"/"+name, text) {
				w.Changed = append(w.Changed, name)
			}
		}
	}
	return w, nil
}
