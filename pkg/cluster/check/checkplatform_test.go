package check

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
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

// TestUnsigned checks which releases need signatures that a plan leaves out.
func TestUnsigned(t *testing.T) {
	all := []plan.Release{{Version: "4.20.9"}, {Version: "4.21.0"}, {Version: "4.21.1"}}
	got := unsigned(all, []proof.Part{{Release: all[1].Name(), Signatures: true}}, []proof.Part{{Release: all[2].Name()}})
	if len(got) != 1 || got[0].Parts[0].Release != all[2].Name() {
		t.Errorf("%+v", got)
	}
}
