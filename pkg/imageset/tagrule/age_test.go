package tagrule_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/imageset/tagrule"
)

func TestDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"1d": 1, "3d": 3, "2w": 14, "72h": 3, "24h": 1,
		"": 0, "d": 0, "0d": 0, "-1d": 0, "+3d": 0, "5h": 0, "3": 0, "3m": 0, "1d12h": 0, "99999999999999999999d": 0, "40000d": 0,
	} {
		if got, err := tagrule.Days(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
