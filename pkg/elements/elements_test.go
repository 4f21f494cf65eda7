package elements

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestElements(t *testing.T) {
	t.Parallel()
	list := []string{"a", "bc"}
	fail.Diff(t, []string{"A", "BC"}, Map(list, strings.ToUpper))
	fail.Diff(t, []string(nil), Map(list[:0], strings.ToUpper))
	short := func(s string) bool { return len(s) < 2 }
	got := Filter(list, short)
	fail.Diff(t, []string{"a"}, got)
	got[0] = "x"
	fail.Diff(t, []string{"a", "bc"}, list)
	fail.Diff(t, []string(nil), Filter(list[1:], short))
}
