package build

import (
	"context"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// addBootFiles adds the boot images of the releases to the files of the plan: those that the
// configuration asks for, for the architectures that are mirrored. Releases often share them.
func (r platformReleases) addBootFiles(ctx context.Context, files *plannedFiles, sources Sources) (missing []plan.Missing, notes []string, err error) {
	if r.cfg == nil || r.cfg.Tools == nil || len(r.cfg.Tools.BootImages) == 0 {
		return nil, nil, nil
	}
	at := r.cfg.Tools.Pos
	known := map[string]fileSize{}
	for i := range r.payloads {
		p := &r.payloads[i]
		artifacts, err := p.bootArtifacts(r)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", at, err)
		}
		if len(artifacts) == 0 {
			notes = append(notes, fmt.Sprintf("release %s lists no boot images for the mirrored architectures; bootImages has no effect", p.name()))
		}
		if len(artifacts) > 0 && sources.Downloads == nil {
			return nil, nil, advice.New(advice.Input, "set Sources.Downloads", "%s: no source for boot images", at)
		}
		for _, a := range artifacts {
			e := fileEntry{
				File:   fileartifact.File{Name: a.File, Digest: a.Digest},
				origin: a.Location, source: plan.FileScheme + a.Location, reasons: []plan.Reason{{List: plan.ToolsList, Name: a.Kind()}},
			}
			key := a.Location + " " + a.Digest.String()
			size, ok := known[key]
			if !ok {
				size.bytes, size.err = webSize(ctx, sources.Downloads, a.Location, a.Digest)
				known[key] = size
			}
			switch {
			case ctx.Err() != nil:
				return nil, nil, context.Cause(ctx)
			case size.err != nil && !ok:
				missing = append(missing, plan.NewMissing(e.source, plan.FileImage, size.err, e.reasons))
				continue
			case size.err != nil:
				continue
			}
			e.Size = size.bytes
			if err := files.add(ctx, sources.Store, e); err != nil {
				return nil, nil, fmt.Errorf("%s: release %s: %w", at, p.name(), err)
			}
			if a.IsLiveISO() {
				p.entry.LiveISOs = append(p.entry.LiveISOs, plan.LiveISO{Arch: a.Arch, File: a.File, Build: a.Build})
			}
		}
	}
	return missing, notes, nil
}

// A fileSize is the size of a file, or why it is unknown.
type fileSize struct {
	bytes int64
	err   error
}

// bootArtifacts returns the boot images of a release that the configuration asks for, none if it lists none
// for the mirrored architectures.
func (p *selectedRelease) bootArtifacts(r platformReleases) ([]payload.BootArtifact, error) {
	all, err := p.payload.BootArtifacts()
	if err != nil {
		return nil, err
	}
	var arches []release.Arch
	for _, a := range all {
		if usesArch(r.cfg, p.arch, a.Arch) && !slices.Contains(arches, a.Arch) {
			arches = append(arches, a.Arch)
		}
	}
	return p.payload.SelectArtifacts(r.cfg.Tools.BootImages, arches)
}
