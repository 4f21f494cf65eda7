package check

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/plan/proof"
)

func TestPlatformError(t *testing.T) {
	for n, want := range map[int]string{1: "1 of 3 planned hops is not possible", 2: "2 of 3 planned hops are not possible"} {
		r := proof.Report{Updates: []proof.UpdateReport{{Hops: []proof.HopReport{
			{From: "a", To: "b", Possible: n < 3}, {From: "b", To: "c", Possible: n < 2}, {From: "c", To: "d"},
		}}}}
		if err := platformError(&r); advice.KindOf(err) != advice.Mismatch || err.Error() != "with this mirror "+want {
			t.Errorf("with %d hops the error is %v, want %q", n, err, want)
		}
	}
}
