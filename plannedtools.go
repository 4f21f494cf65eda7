package gantry

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/release/payload"
	"github.com/gantry-mirror/gantry/pkg/release/tools"
	"github.com/gantry-mirror/gantry/plan"
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
func (e *Env) plannedTools(ctx context.Context, have *archive.Archive, p *plan.Plan, names []string, o *ExtractFilesOptions) ([]ReleaseTool, error) {
	var all []ReleaseTool
	for _, r := range p.Releases {
		want := slices.DeleteFunc(slices.Clone(r.Tools), func(t plan.Tool) bool {
			return len(names) > 0 && !slices.Contains(names, t.File) || slices.ContainsFunc(all, func(x ReleaseTool) bool { return x.File == t.File })
		})
		if len(want) == 0 {
			continue
		}
		s := &releaseSource{images: have, source: r.Source, digest: r.Digest, tools: want}
		list, err := e.extractSelected(ctx, s, o)
		if len(names) == 0 && errors.Is(err, fs.ErrNotExist) {
			e.warn("the archive does not have all images of release %s, so its tools are not extracted: gantry release tools extracts them from the mirror", r.Name())
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
func (e *Env) extractSelected(ctx context.Context, s *releaseSource, o *ExtractFilesOptions) (*ReleaseToolList, error) {
	list := &ReleaseToolList{}
	p, err := payload.Read(ctx, s.images, s.source, s.digest)
	if err != nil {
		return nil, err
	}
	selected, _, err := s.selectTools(p, nil, nil)
	if err != nil {
		return nil, err
	}
	if list.ReleaseImage, err = s.releaseImage("", p); err != nil {
		return nil, err
	}
	if err := s.extractTools(ctx, p, selected, list, o.To, o.Force); err != nil {
		return list, err
	}
	for _, note := range list.Notes {
		e.warn("%s", note)
	}
	return list, nil
}

// isTool reports whether a name is a tool, "oc", or looks like the file of one, "oc-4.20.5-linux-amd64".
func isTool(name string) bool {
	return slices.ContainsFunc(tools.Names(), func(tool string) bool {
		rest, ok := strings.CutPrefix(name, tool+"-")
		return name == tool || ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
	})
}
