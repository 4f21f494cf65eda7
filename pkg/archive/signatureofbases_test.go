package archive

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// TestSignaturesOfBases checks that Verify finds altered signatures of the sets that the newest builds
// on, and accepts those of keys that are not trusted.
func TestSignaturesOfBases(t *testing.T) {
	t.Parallel()
	ops, other := newScribe(t, "ops@example.com"), newScribe(t, "other@example.com")
	dir := t.TempDir()
	first := newSample(1, 3000)
	both := first.plus(newSample(2, 5000))
	first.write(t, dir, Options{Sign: other.sign})
	both.write(t, dir, Options{Sign: ops.sign, Base: first.onto(t, dir, 1)})
	verify := func(policy *sshsig.Policy) error {
		a, err := InspectWith(OpenOptions{Signatures: policy}, dir)
		fail.On(t, err)
		defer a.Close()
		return a.Verify(t.Context(), nil)
	}
	fail.On(t, verify(ops.policy))
	edit(t, filepath.Join(dir, firstSig), func(s string) string {
		at := len(s) / 2
		return s[:at] + strings.Map(func(r rune) rune { return r ^ 1 }, s[at:at+1]) + s[at+1:]
	})
	var damage *DamageError
	if err := verify(ops.policy); !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Damage[0].File != firstSig ||
		!strings.Contains(damage.Damage[0].Problem, "it is not the signature of "+firstSet) {
		t.Errorf("an altered signature: %v", err)
	}
	fail.On(t, verify(nil))
}
