package extract

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
)

// splitTools separates the names of tools that a plan has from names of files.
func splitTools(p *plan.Plan, names []string) (ofTools, others []string) {
	for _, name := range names {
		if slices.ContainsFunc(p.Releases, func(r plan.Release) bool {
			return slices.ContainsFunc(r.Tools, func(t plan.Tool) bool { return t.File == name })
		}) {
			ofTools = append(ofTools, name)
		} else {
			others = append(others, name)
		}
	}
	return ofTools, others
}

// plannedTools writes tools that the plan of an archive has to the folder of o: those with the names of files,
// all without names. An archive that builds on others may not have their images; without names, that is a
// warning.
func plannedTools(ctx context.Context, e *env.Env, have *archive.Archive, p *plan.Plan, names []string, o *FilesOptions) ([]releases.ReleaseTool, error) {
	var all []releases.ReleaseTool
	for _, r := range p.Releases {
		want := slices.DeleteFunc(slices.Clone(r.Tools), func(t plan.Tool) bool {
			return len(names) > 0 && !slices.Contains(names, t.File) || slices.ContainsFunc(all, func(x releases.ReleaseTool) bool { return x.File == t.File })
		})
		if len(want) == 0 {
			continue
		}
		s := &releases.ReleaseSource{Images: have, Source: r.Source, Digest: r.Digest, Tools: want}
		list, err := extractSelected(ctx, e, s, o)
		if len(names) == 0 && errors.Is(err, fs.ErrNotExist) {
			e.Warnf("the archive does not have all images of release %s, so its tools are not extracted: gantry release tools extracts them from the mirror", r.Name())
			continue
		}
		if list != nil {
			all = append(all, list.Tools...)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// extractSelected writes the tools that the plan has for a release.
func extractSelected(ctx context.Context, e *env.Env, s *releases.ReleaseSource, o *FilesOptions) (*releases.ReleaseToolList, error) {
	list := &releases.ReleaseToolList{}
	p, err := payload.Read(ctx, s.Images, s.Source, s.Digest)
	if err != nil {
		return nil, err
	}
	selected, _, err := s.SelectTools(p, nil, nil)
	if err != nil {
		return nil, err
	}
	if list.ReleaseImage, err = s.ReleaseImage("", p); err != nil {
		return nil, err
	}
	if err := s.ExtractTools(ctx, p, selected, list, o.To, o.Force); err != nil {
		return list, err
	}
	for _, note := range list.Notes {
		e.Warnf("%s", note)
	}
	return list, nil
}
