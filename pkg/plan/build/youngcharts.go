package build

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// youngCharts are the versions of charts of a repository that are left out because they are too young. A version
// that an entry names exactly stays.
type youngCharts struct {
	opts       Options
	repository string
	versions   []string // "NAME VERSION (DAY)"
	byEntry    map[*imageset.Chart][]string
}

// leavesOut reports whether a version in the index of a repository is too young, by the time that the index has of it.
func (y *youngCharts) leavesOut(entry *imageset.Chart, v *chart.Version) bool {
	return v.Version != entry.Version && y.isYoung(entry, v.Name, v.Version, parseTime(v.Created))
}

// isYoung reports whether a version is too young, and keeps that it is.
func (y *youngCharts) isYoung(entry *imageset.Chart, name, version string, created time.Time) bool {
	if !y.opts.tooYoung(created) {
		return false
	}
	if y.byEntry == nil {
		y.byEntry = map[*imageset.Chart][]string{}
	}
	what := fmt.Sprintf("%s %s (%s)", name, version, day(created.UTC()))
	y.versions = append(y.versions, what)
	y.byEntry[entry] = append(y.byEntry[entry], what)
	return true
}

// selectTags selects versions of a chart in a registry. When a version was created is in its manifest, so only
// those are read that would be selected, until all of them are old enough.
func (y *youngCharts) selectTags(ctx context.Context, entry *imageset.Chart, address string, repository reference.Reference, versions []string, sources Sources) ([]string, error) {
	versions = slices.Clone(versions)
	known := map[string]bool{}
	for {
		some, err := selectVersions(entry, address, versions)
		if err != nil {
			return nil, y.explain(entry, err)
		}
		if y.opts.youngest().IsZero() {
			return some, nil
		}
		unknown := slices.DeleteFunc(slices.Clone(some), func(v string) bool { return known[v] || v == entry.Version })
		times, err := collect(ctx, len(unknown), y.opts.Jobs, func(ctx context.Context, i int) (time.Time, error) {
			return CreationTime(ctx, sources.Images, repository.WithTag(chart.Tag(unknown[i])).String())
		})
		if err != nil {
			return nil, err
		}
		again := false
		for i, v := range unknown {
			if known[v] = true; y.isYoung(entry, entry.Name, v, times[i]) {
				again = true
				versions = slices.DeleteFunc(versions, func(have string) bool { return have == v })
			}
		}
		if !again {
			return some, nil
		}
	}
}

// explain adds to an error of the selection what was left out before.
func (y *youngCharts) explain(entry *imageset.Chart, err error) error {
	if len(y.byEntry[entry]) == 0 {
		return err
	}
	return advice.Wrap(advice.KindOf(err), fmt.Errorf("%w\nversions younger than the minimum age were left out before: %s", err, shortList(y.byEntry[entry])), "")
}

// notes returns a note on what was left out.
func (y *youngCharts) notes() []string {
	if len(y.versions) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("charts of %s: left out because of the minimum age: %s", y.repository, shortList(y.versions))}
}
