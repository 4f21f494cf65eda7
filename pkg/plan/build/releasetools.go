package build

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/platform/tools"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// selectTools returns the tools of a release that the configuration asks for. Their images are images
// of the release, so nothing else has to be mirrored for them.
func (r releaseReader) selectTools(p *payload.Payload) (list []plan.Tool, notes []string, err error) {
	want := r.cfg.Tools
	if want == nil {
		return nil, nil, nil
	}
	var platforms []release.ToolPlatform
	for _, text := range want.Platforms {
		platform, err := release.ParseToolPlatform(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", want.Pos, err)
		}
		platforms = append(platforms, platform)
	}
	found, notes, err := tools.Select(p, want.Names, platforms)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", want.Pos, err)
	}
	for i := range found {
		t := &found[i]
		if pattern, ok := imageset.BlockedBy(r.blocked, t.Image(p).Ref, plan.ComponentRepository); ok {
			return nil, nil, advice.New(advice.Input, "remove one of the two", "%s: %s is in image %s, which is blocked by blockedImages (%s)", want.Pos, t.Name, t.Component, pattern)
		}
		list = append(list, plan.Tool{Name: t.Name, Platform: t.Platform.String(), File: t.File(p.Version, p.Arch)})
	}
	elements.Sort(list, func(a, b plan.Tool) int { return cmp.Compare(a.File, b.File) })
	return list, notes, nil
}

// usesArch reports whether the mirrored part of a release, which is for one architecture or for all, is
// also for machines of arch.
func usesArch(cfg *imageset.Releases, of, arch release.Arch) bool {
	if of != release.Multi {
		return arch == of
	}
	return len(cfg.Platforms) == 0 || slices.ContainsFunc(cfg.Platforms, func(x imageset.Platform) bool { return x.Architecture == string(arch) })
}
