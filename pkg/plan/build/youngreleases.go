package build

import (
	"context"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// chooseOld selects releases of the channels. As long as some of them are too young, it selects again without these:
// update graphs have no dates, so that only the selected payloads are read. Releases that clusters run stay.
func (r releaseReader) chooseOld(ctx context.Context) (*releaseSelection, error) {
	young, aged := map[string]string{}, map[string]bool{}
	for {
		chosen, err := selectReleases(ctx, r.cfg, r.sources.Releases, r.opts.Clusters, r.blocked, young)
		if err != nil || r.opts.youngest().IsZero() {
			return chosen, err
		}
		unread := elements.Filter(chosen.releases, func(c *chosenRelease) bool { return !aged[c.source] && !c.runs() })
		times, err := collect(ctx, len(unread), r.opts.Jobs, func(ctx context.Context, i int) (time.Time, error) {
			return CreationTime(ctx, r.sources.Images, unread[i].source)
		})
		if err != nil {
			return nil, err
		}
		again := false
		for i, c := range unread {
			aged[c.source] = true
			if r.opts.tooYoung(times[i]) {
				young[c.source], again = day(times[i].UTC()), true
			}
		}
		if !again {
			return chosen, nil
		}
	}
}

// runs reports whether clusters run the release.
func (c *chosenRelease) runs() bool {
	return slices.ContainsFunc(c.reasons, func(why plan.ReleaseReason) bool { return why.Reason == reasonFrom })
}
