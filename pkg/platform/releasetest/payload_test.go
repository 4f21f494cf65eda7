package releasetest

import (
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func newFixture(t *testing.T, u Definition) *Platform {
	t.Helper()
	w, err := New(u)
	fail.On(t, err)
	return w
}

// smallFixture is made once: a Platform does not change, and signing takes a while.
var smallFixture = sync.OnceValues(func() (*Platform, error) { return New(Small()) })

func small(t *testing.T) *Platform {
	t.Helper()
	w, err := smallFixture()
	fail.On(t, err)
	return w
}

// TestDigests checks that the bytes depend only on the Definition. The digests cover the whole
// payload.
func TestDigests(t *testing.T) {
	t.Parallel()
	w, again := small(t), newFixture(t, Small())
	for i, p := range w.Payloads {
		if q := again.Payloads[i]; p.Digest != q.Digest {
			t.Errorf("%s is %s and then %s", p.Name, p.Digest, q.Digest)
		}
	}
	for name, want := range map[string]digest.Digest{
		"4.18.1-x86_64": "sha256:cffad77dc33fd9930db36ab72c69775bb2945ad7cc040f1d23e44a7d100a2b6e", "4.20.2-multi": "sha256:0302b0fd1f5b20b53e8a232e90e10f65fa99fa108853ae78c37da3a1d57f83c4",
	} {
		if got := w.Payload(name).Digest; got != want {
			t.Errorf("%s is %s, want %s: update the digests that other tests contain", name, got, want)
		}
	}
	large := Small()
	large.ComponentSize = 4 << 10
	if w.Payload("4.18.1-x86_64").Digest == newFixture(t, large).Payload("4.18.1-x86_64").Digest {
		t.Error("the size of components does not matter")
	}
}
