package cluster

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/resources/hosts"
	"github.com/gantry-mirror/gantry/pkg/resources/install"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A WrittenFolder is a folder of the workspace with files that configure something other than a running
// cluster.
type WrittenFolder struct {
	Dir     string   `json:"dir"`
	Files   []string `json:"files"`
	Removed []string `json:"removed,omitempty"`
}

// A resourceFolder has the files of one folder beside cluster-resources/. Their names may contain folders.
type resourceFolder struct {
	name  string
	files []resources.File
	notes []string
}

// folders returns the folders beside cluster-resources/. A folder without files is emptied.
func (r *Manifests) folders(t *site.RegistryDestination) ([]resourceFolder, error) {
	ca, plain := []byte(r.access.ca), r.access.plainHTTP
	clusters := install.Input{Host: t.Host, Mirrors: r.mirrors, CA: ca, PlainHTTP: plain}
	for _, release := range r.all.Releases {
		of := install.Release{Version: release.Version, Arch: release.Arch.Suffix(), Image: release.Mirror}
		for _, iso := range release.LiveISOs {
			of.LiveISOs = append(of.LiveISOs, install.LiveISO{Arch: iso.Arch.Suffix(), File: iso.File, Build: iso.Build})
		}
		clusters.Releases = append(clusters.Releases, of)
	}
	machines := hosts.Input{Host: t.Host, Images: r.all.Images, Mirrors: r.mirrors, CA: ca, PlainHTTP: plain}
	all := []resourceFolder{{name: state.InstallFiles}, {name: state.HostFiles}}
	var err error
	if all[0].files, all[0].notes, err = install.Build(clusters); err == nil {
		all[1].files, all[1].notes, err = hosts.Build(machines)
	}
	return all, err
}

// saveFolders writes the folders beside cluster-resources/.
func saveFolders(s *workspace.Session, t *site.RegistryDestination, r *Manifests, out *ResourceFiles) error {
	all, err := r.folders(t)
	if err != nil {
		return err
	}
	for _, f := range all {
		written := WrittenFolder{Files: resources.FileNames(f.files)}
		if written.Dir, written.Removed, err = s.SaveFolder(f.name, t.Key(), f.files); err != nil {
			return fmt.Errorf("writing %s: %w", f.name, err)
		}
		if len(written.Files)+len(written.Removed) > 0 {
			out.Folders = append(out.Folders, written)
		}
		out.Notes = append(out.Notes, f.notes...)
	}
	return nil
}
