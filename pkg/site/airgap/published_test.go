package airgap

import (
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestPublished checks which image a site has under a name before an archive.
func TestPublished(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.month(1).Images[0]
	tag := first.Tags[0]
	get := func(since Since) (digest.Digest, int) {
		t.Helper()
		n, err := PrepareExport(t.Context(), w.ws, w.month(3), w.to("disk3", since))
		fail.On(t, err)
		d, sequence, err := n.Published(first.Repository, tag)
		fail.On(t, err)
		if other, _, err := n.Published(first.Repository, "other"); other != "" || err != nil {
			t.Errorf("another tag has %s, %v", other, err)
		}
		if other, _, err := n.Published("other", tag); other != "" || err != nil {
			t.Errorf("another repository has %s, %v", other, err)
		}
		return d, sequence
	}
	if d, sequence := get(Since{}); d != "" || sequence != 0 {
		t.Errorf("without archives: %s of %d", d, sequence)
	}
	w.months(2)
	for _, tc := range []struct {
		since Since
		want  int
	}{{Since{}, 2}, {Since{Full: true}, 2}, {Since{Sequence: 1, Text: "1"}, 1}} {
		if d, sequence := get(tc.since); d != first.Digest || sequence != tc.want {
			t.Errorf("%+v: got %s of %d, want %s of %d", tc.since, d, sequence, first.Digest, tc.want)
		}
	}
}
