package removal

import (
	"slices"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// TestWantedRevisions checks which revisions are wanted within a time, also if the clock of a host was wrong.
func TestWantedRevisions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		daysAgo []int
		want    []bool
	}{
		"in order":         {[]int{90, 60, 40, 10}, []bool{false, false, true, true}},
		"a slow clock":     {[]int{50, 400, 5}, []bool{true, true, true}},
		"a slow clock now": {[]int{50, 400}, []bool{true, true}},
		"long corrected":   {[]int{90, 400, 80, 70}, []bool{false, false, false, true}},
		"two slow clocks":  {[]int{40, 400, 390, 5}, []bool{true, true, true, true}},
		"all slow, ended":  {[]int{800, 400, 390, 380}, []bool{false, false, false, true}},
		"from the future":  {[]int{90, 80, -365}, []bool{false, true, true}},
		"future corrected": {[]int{90, -365, 80, 70}, []bool{true, true, true, true}},
		"a fast clock":     {[]int{90, -100, 50, 40}, []bool{true, true, true, true}},
	} {
		var revisions []setrecord.Revision
		for _, days := range c.daysAgo {
			revisions = append(revisions, setrecord.Revision{Since: now.AddDate(0, 0, -days)})
		}
		got := wantedRevisions(revisions, 1, 30*24*time.Hour, now)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
