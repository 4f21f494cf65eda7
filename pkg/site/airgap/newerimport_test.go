package airgap

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestNewerImport checks which archive was imported after another one.
func TestNewerImport(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	f := w.importSite()
	newer := func(disk string) int {
		t.Helper()
		n, err := NewerImport(f.ws, f.registry.site().Name, f.open(disk).Selected())
		fail.On(t, err)
		return n
	}
	fail.Diff(t, 0, newer("disk1"))
	f.mustBring(w.month(1), "disk1")
	f.mustBring(w.month(2), "disk2")
	if one, two := newer("disk1"), newer("disk2"); one != 2 || two != 0 {
		t.Errorf("%d and %d are newer, want 2 and 0", one, two)
	}
}
