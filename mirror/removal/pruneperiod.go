package removal

import (
	"time"

	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// now returns the time that o.OlderThan is counted from: the earlier one of this host and the registry, so that a
// clock that is ahead makes nothing older than it is.
func (r *recordedRevisions) now(o *PruneOptions) time.Time {
	here, there := o.Now(), r.to.Now()
	now := here
	if there.Before(here) {
		now = there
	}
	if difference := here.Sub(there).Abs(); o.OlderThan > 0 && difference > site.MaxClockDifference {
		r.env.Warnf("the clock of this host shows %s, and the one of the registry %s; the earlier time is used, so that more is kept: set the clocks right",
			here.UTC().Format(time.RFC3339), there.UTC().Format(time.RFC3339))
	}
	return now
}

// wantedRevisions returns for each revision whether it is wanted: the current one, the last keepLast, and those
// that were current at some time within olderThan before now.
func wantedRevisions(revisions []setrecord.Revision, keepLast int, olderThan time.Duration, now time.Time) []bool {
	wanted := make([]bool, len(revisions))
	for i := range revisions {
		last := i >= len(revisions)-max(1, keepLast)
		wanted[i] = last || olderThan > 0 && !endedBefore(revisions, i, now.Add(-olderThan))
	}
	return wanted
}

// endedBefore reports whether a revision surely ended at a time or before it. It ended when the next one began. If
// a clock was wrong, so that this is before its own beginning, the first later revision after that counts.
func endedBefore(revisions []setrecord.Revision, i int, t time.Time) bool {
	latest := revisions[i].Since
	for _, earlier := range revisions[:i] {
		if earlier.Since.After(latest) {
			latest = earlier.Since
		}
	}
	for _, later := range revisions[i+1:] {
		if !later.Since.Before(latest) {
			return !later.Since.After(t)
		}
	}
	return false
}
