package elements

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestMap(t *testing.T) {
	t.Parallel()
	fail.Diff(t, []string{"A", "B"}, Map([]string{"a", "b"}, strings.ToUpper))
	fail.Diff(t, []int(nil), Map([]string{}, func(s string) int { return len(s) }))
}

func TestFilter(t *testing.T) {
	t.Parallel()
	list := []int{1, 2, 3, 4}
	even := func(n int) bool { return n%2 == 0 }
	got := Filter(list, even)
	fail.Diff(t, []int{2, 4}, got)
	got[0] = 5
	fail.Diff(t, []int{1, 2, 3, 4}, list)
	fail.Diff(t, []int(nil), Filter([]int{1}, even))
}
