package airgap

import (
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestStranger writes next to an encrypted archive of another workspace, and checks that it is not
// replaced, because its configuration is unknown.
func TestStranger(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := w.to("disk", Since{})
	secret.Archive.Encrypt = w.encryption()
	_, err := w.write(w.workspace("elsewhere"), w.named("other", 1), secret)
	fail.On(t, err)
	p := w.month(2)
	n := w.must(p, "disk", Since{})
	if got := n.Result(); got.Sequence != 2 || got.BuildsOn != 0 {
		t.Errorf("%+v", got)
	}
	if got := w.sets("disk"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the folder has %v", got)
	}
	// The history has the encrypted archives that this workspace wrote.
	own := w.to("own", Since{})
	own.Archive.Encrypt = w.encryption()
	_, err = w.write(w.ws, p, own)
	fail.On(t, err)
	if all, err := w.ws.Exports("ops"); err != nil || !all[1].Encrypted {
		t.Errorf("the history has %+v, %v", all, err)
	}
	got, err := w.write(w.ws, w.month(3), own)
	if err != nil || got.Result().BuildsOn != 3 || !slices.Equal(w.sets("own"), []int{3, 4}) {
		t.Errorf("%+v, %v, the folder has %v", got.Result(), err, w.sets("own"))
	}
}
