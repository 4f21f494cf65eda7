package build

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
)

// samplesList is the list of the configuration that selects image streams of the samples operator.
const samplesList = "samples"

// addSamples reads the image streams of the samples operator of each release, and keeps those that
// mirror.samples selects, for the architectures of the release. A name that no release has is an error.
func (r releaseReader) addSamples(ctx context.Context, payloads []selectedRelease) (notes []string, err error) {
	if len(r.samples) == 0 || len(payloads) == 0 {
		return nil, nil
	}
	for _, s := range r.samples {
		if _, err := path.Match(s.Name, ""); err != nil {
			return nil, inputErrorf("%s: samples: name %q: %w", s.Pos, s.Name, err)
		}
	}
	all, found := make([][]payload.Sample, len(payloads)), make([]bool, len(payloads))
	err = eachOf(ctx, len(payloads), r.opts.Jobs, func(ctx context.Context, i int) (err error) {
		all[i], found[i], err = payloads[i].payload.Samples(ctx, r.sources.Images)
		return err
	})
	if err != nil {
		return nil, err
	}
	matched := make([]bool, len(r.samples))
	var names []string
	for i := range payloads {
		p := &payloads[i]
		if !found[i] {
			notes = append(notes, fmt.Sprintf("release %s has no samples operator, so no samples of it are mirrored", p.name()))
			continue
		}
		for _, s := range all[i] {
			names = append(names, s.Name)
			if !usesArch(r.cfg, p.arch, s.Arch) {
				continue
			}
			if at := slices.IndexFunc(r.samples, func(want imageset.Sample) bool { return matches(want.Name, s.Name) }); at >= 0 {
				p.samples = append(p.samples, s)
			}
			for j, want := range r.samples {
				matched[j] = matched[j] || matches(want.Name, s.Name)
			}
		}
	}
	for i, ok := range matched {
		if ok || !slices.Contains(found, true) {
			continue
		}
		slices.Sort(names)
		names = slices.Compact(names)
		hint := suggest.Phrase(r.samples[i].Name, names)
		if hint == "" {
			hint = "they have " + shortList(names)
		}
		return nil, inputErrorf("%s: samples: no release has an image stream %q for its architectures; %s", r.samples[i].Pos, r.samples[i].Name, hint)
	}
	return notes, nil
}

// matches reports whether a checked pattern matches a name.
func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// addSampleRequests requests the images of the selected image streams. Clusters work without them, so
// they are not part of the release.
func (r platformReleases) addSampleRequests(set *requestSet) error {
	for _, p := range r.payloads {
		for _, s := range p.samples {
			for _, image := range s.Images {
				err := set.addReference(image, imageRequest{
					kind: plan.AdditionalImage, platforms: r.cfg.Platforms, reasons: []plan.Reason{{List: samplesList, Name: s.Name}},
				})
				if err != nil {
					return fmt.Errorf("release %s: image stream %s: %w", p.name(), s.Name, err)
				}
			}
		}
	}
	return nil
}
