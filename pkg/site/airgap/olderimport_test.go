package airgap

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestOlder checks that archives are refused, or reported, that would take a mirror back to an earlier
// state.
func TestOlder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	_, err := w.write(w.workspace("elsewhere"), w.month(3), w.to("other", Since{}))
	fail.On(t, err)
	f := w.importSite()
	f.mustBring(w.month(1), "disk1")
	f.mustBring(w.month(1), "disk1")
	if f.warned != nil {
		t.Errorf("the same once more warns %q", f.warned)
	}
	f.mustBring(w.month(2), "disk2")
	for folder, tc := range map[string]struct {
		month int
		want  string
	}{
		"disk1": {1, "sequence 1 is older than sequence 2, which was imported before: tags and catalogs go back to what they were then"},
		"other": {3, "sequence 1 is older than sequence 2"},
	} {
		f.older = false
		if _, err := f.fit(w.month(tc.month), f.registry.site(), folder); advice.KindOf(err) != advice.Mismatch || !strings.Contains(err.Error(), "sequence 1 is older than sequence 2") || !strings.Contains(advice.Hint(err), "Options.AllowOlder") {
			t.Errorf("%s is not refused: %v", folder, err)
		}
		f.older = true
		if _, err := f.fit(w.month(tc.month), f.registry.site(), folder); err != nil || len(f.warned) != 1 || !strings.HasPrefix(f.warned[0], tc.want) {
			t.Errorf("%s warns %q, %v", folder, f.warned, err)
		}
	}
	f.older = false
	// An older archive with the plan of the newest one replaces nothing.
	kept, err := siteReceipt(f.ws, "mirror", "ops")
	fail.On(t, err)
	kept.Plan = w.open("disk1").Selected().Plan
	f.saveReceipt(kept)
	if _, err := f.fit(w.month(1), f.registry.site(), "disk1"); err != nil || len(f.warned) != 1 {
		t.Errorf("the same plan warns %q, %v", f.warned, err)
	}
	// Another archive has the number of the newest one.
	last := w.open("disk2").Selected()
	f.saveReceipt(&state.Receipt{Name: "ops", Sets: []state.SetRef{{Sequence: 1, Set: last.Set}}})
	if _, err := f.fit(w.month(1), f.registry.site(), "disk1"); err != nil || len(f.warned) != 1 || !strings.HasPrefix(f.warned[0], "this is not the archive with the number 1 that was imported before, but another one (sha256:") {
		t.Errorf("it warns %q, %v", f.warned, err)
	}
}
