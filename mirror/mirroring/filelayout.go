package mirroring

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// workspace returns the folder of the workspace. With the layout of oc mirror, the default is where that
// tool has its files: the folder working-dir beside the archive that is read or written.
func (o *Options) workspace() string {
	var root string
	switch {
	case o.Workspace != "" || o.Layout != workspace.OCMirrorLayout:
		return env.WorkspaceDir(o.Workspace)
	case len(o.From) > 0:
		root = strings.TrimPrefix(o.From[0], env.ArchiveScheme)
	case o.toArchive():
		root = strings.TrimPrefix(o.Destination, env.ArchiveScheme)
	default:
		return env.DefaultWorkspace
	}
	return filepath.Join(root, "working-dir")
}

// useLayout sets the layout of files, and saves it unless the run is a dry run.
func useLayout(s *workspace.Session, o *Options) error {
	saved := s.UsesLayout()
	switch layout := state.FileLayout(o.Layout); {
	case layout == "" || layout == saved:
		return nil
	case saved != "" && !o.DryRun:
		s.Env.Noticef("files have the layout of %s from now on; cluster resources of the layout of %s are replaced at the end of the run", layout, saved)
		fallthrough
	default:
		return s.UseLayout(layout, !o.DryRun)
	}
}

// saveMapping writes what a dry run would copy as oc mirror does: a line SOURCE=DESTINATION for every
// image, in mapping.txt, and in missing.txt for those that are not at the destination. Signatures and other
// referrers are no images there, and there is no missing.txt if nothing is missing. It does so only in the layout
// of oc mirror.
func saveMapping(s *workspace.Session, t site.Destination, destination string, p *plan.Plan, missing *mirror.ToCopy) error {
	if s.UsesLayout() != state.OCMirrorLayout {
		return nil
	}
	var mapping, absent strings.Builder
	for i := range p.Images {
		img := &p.Images[i]
		if img.Kind.Belongs() {
			continue
		}
		tag := "@" + img.Digest.String()
		if len(img.Tags) > 0 {
			tag = ":" + img.Tags[0]
		}
		to := strings.TrimRight(destination, "/") + "/" + img.Repository + tag
		if r := t.Registry(); r != nil {
			to = env.RegistryScheme + r.InMirror(img.Repository).Name() + tag
		}
		line := withTransport(img.Source) + "=" + to + "\n"
		mapping.WriteString(line)
		if missing.Images > 0 && (missing.Absent == nil || missing.Absent(img)) {
			absent.WriteString(line)
		}
	}
	path, err := s.SaveFile("dry-run/mapping.txt", []byte(mapping.String()))
	if err == nil {
		s.Env.Noticef("all images: %s", path)
		if absent.Len() == 0 {
			return s.RemoveFile("dry-run/missing.txt")
		}
		path, err = s.SaveFile("dry-run/missing.txt", []byte(absent.String()))
	}
	if err != nil {
		return fmt.Errorf("writing the images of a dry run: %w", err)
	}
	s.Env.Noticef("images that are not at the destination: %s", path)
	return nil
}

// withTransport returns a source with docker:// before it unless it has another transport.
func withTransport(source string) string {
	if strings.Contains(source, "://") {
		return source
	}
	return env.RegistryScheme + source
}

// saveErrors writes the images that failed as oc mirror does, in the layout of oc mirror. A run without
// errors writes nothing.
func saveErrors(s *workspace.Session, p *plan.Plan, report *mirror.Report, now time.Time) error {
	if s.UsesLayout() != state.OCMirrorLayout || len(report.Failed) == 0 {
		return nil
	}
	reasons := map[string][]plan.Reason{}
	for _, img := range p.Images {
		reasons[img.Source] = img.Reasons
	}
	for _, m := range p.Missing {
		reasons[m.Source] = m.Reasons
	}
	var text strings.Builder
	for _, f := range report.Failed {
		var bundles, packages []string
		for _, r := range reasons[f.Source] {
			if r.Bundle != "" {
				bundles, packages = append(bundles, r.Bundle), append(packages, r.Package)
			}
		}
		of := ""
		if len(bundles) > 0 {
			slices.Sort(bundles)
			slices.Sort(packages)
			of = fmt.Sprintf(" (Operator bundles: %v - Operators: %v)", slices.Compact(bundles), slices.Compact(packages))
		}
		fmt.Fprintf(&text, "error mirroring image %s%s error: %s\n", withTransport(f.Source), of, strings.ReplaceAll(f.Reason, "\n", " "))
	}
	path, err := s.SaveFile("logs/mirroring_errors_"+now.Format("20060102_150405")+".txt", []byte(text.String()))
	if err != nil {
		return fmt.Errorf("writing the images that failed: %w", err)
	}
	s.Env.Noticef("errors: %s", path)
	return nil
}
