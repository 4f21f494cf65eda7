package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// VerifiedResources is what a verification found about the cluster resources of a mirror.
type VerifiedResources struct {
	Dir   string `json:"dir"`
	Files int    `json:"files"`
	// Problems are references in the files to content that the mirror does not have, and content that no
	// file makes clusters request from the mirror.
	Problems []ResourceProblem `json:"problems"`
	// Unchecked are mirrors of mirror sets that could not be looked at, with the reason.
	Unchecked []ResourceProblem `json:"unchecked,omitempty"`
	// newer describes the image sets that were mirrored elsewhere since the last run of the workspace.
	newer []string
}

// A ResourceProblem is what is wrong with one file, or with the files for one image.
type ResourceProblem struct {
	// File is the name of the file, "" if a file is missing whose name is unknown. Object is the object in it.
	File   string `json:"file,omitempty"`
	Object string `json:"object,omitempty"`
	// Image is the image, release or repository that it is about, usually set.
	Image   string `json:"image,omitempty"`
	Problem string `json:"problem"`
}

// A resourceCheck compares cluster resources with a mirror and a plan.
type resourceCheck struct {
	to   *site.RegistryDestination
	plan *plan.Plan
	// record is what the mirror has of the plan, without what is missing.
	record state.Record
	// checked has what was requested from the mirror: mirrors, objects with their images, digests.
	checked map[string]bool
	out     *VerifiedResources
}

func (c *resourceCheck) add(p ResourceProblem) { c.out.Problems = append(c.out.Problems, p) }

// The limits of the files of a folder that a user names.
const (
	maxResourceFiles = 10_000
	maxResourceBytes = 64 << 20
)

// writtenResources returns the cluster resources that the workspace has of the mirror, and the
// configuration of hosts and installers. If there are none, dir is empty. The problems are those of files that
// are not as Gantry wrote them.
func writtenResources(workspace string, t *site.RegistryDestination) (dir string, files []resources.File, problems []ResourceProblem, err error) {
	for _, folder := range []string{state.ClusterResources, state.HostFiles, state.InstallFiles} {
		w, err := state.Written(env.WorkspaceDir(workspace), folder, t.Key())
		if errors.Is(err, state.ErrNoResources) {
			continue
		}
		if err != nil {
			return "", nil, nil, err
		}
		if folder == state.ClusterResources {
			dir = w.Dir
		}
		prefix := ""
		if folder != state.ClusterResources {
			prefix = folder + "/"
		}
		for _, f := range w.Files {
			files = append(files, resources.File{Name: prefix + f.Name, Text: f.Text})
		}
		for _, name := range w.Removed {
			problems = append(problems, ResourceProblem{File: prefix + name, Problem: "the file does not exist anymore"})
		}
		for _, name := range w.Changed {
			if !resources.IsSkeleton(name) { // users complete those
				problems = append(problems, ResourceProblem{File: prefix + name, Problem: "the file was changed since Gantry wrote it"})
			}
		}
	}
	if dir == "" {
		return "", nil, nil, nil
	}
	return dir, files, problems, nil
}

// readResourceFolder reads the manifests and drop-ins for registries.conf in a folder and its folders.
func readResourceFolder(dir string) (files []resources.File, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, advice.Wrap(advice.Input, fmt.Errorf("opening Options.Resources: %w", err), "")
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var total int64
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json", ".conf"}, path.Ext(name)) && path.Base(name) != resources.KustomizationFile:
			return nil
		case len(files) == maxResourceFiles:
			return env.InputHint("name the folder with the cluster resources", "%s has more than %d files", dir, maxResourceFiles)
		}
		text, err := regular.Read(root, name, maxResourceBytes)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if total += int64(len(text)); total > 4*maxResourceBytes {
			return env.InputHint("name the folder with the cluster resources", "the files in %s are too large for cluster resources", dir)
		}
		files = append(files, resources.File{Name: name, Text: text})
		return nil
	})
	if err == nil && len(files) == 0 {
		err = env.Inputf("%s has no manifests", dir)
	}
	return files, err
}

// lookUpHosts finds the images that hosts would not find with drop-ins for registries.conf.
func (c *resourceCheck) lookUpHosts(files []resources.File) error {
	for _, f := range files {
		if path.Ext(f.Name) != ".conf" || strings.HasPrefix(f.Name, state.InstallFiles+"/") {
			continue
		}
		conf, err := registries.Parse(f.Name, f.Text)
		if err != nil {
			c.add(ResourceProblem{File: f.Name, Problem: err.Error()})
			continue
		}
		lost, err := resources.UnredirectedBy(c.record.Images, func(ref reference.Reference) ([]string, error) {
			tried, err := conf.Sources(ref)
			names := elements.Map(tried, func(t registries.Endpoint) string { return t.Reference.Name() })
			return names, err
		})
		if err != nil {
			return err
		}
		for _, l := range lost {
			c.add(ResourceProblem{File: f.Name, Image: l.Name, Problem: "hosts do not find it in the mirror: " + l.Problem})
		}
	}
	return nil
}

// withoutMissing returns what a record would have of the plan if the missing images had failed.
func withoutMissing(t *site.RegistryDestination, p *plan.Plan, missing []mirror.MissingImage) state.Record {
	absent := func(source, repository string) bool {
		return slices.ContainsFunc(missing, func(m mirror.MissingImage) bool { return m.Source == source && m.Repository == repository })
	}
	report := &mirror.Report{}
	for _, m := range missing {
		report.Failed = append(report.Failed, mirror.Failure{Source: m.Source, Repository: m.Repository})
	}
	for i := range p.Images {
		img := &p.Images[i]
		if whole, ok := img.Publishable(); ok && absent(img.Source, img.Repository) {
			report.Withheld = append(report.Withheld, mirror.Withheld{Catalog: whole.Catalog, Release: whole.Release})
		}
	}
	return mirror.NewRecord(p, t.Names, report, nil)
}
