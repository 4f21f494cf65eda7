package histories

import (
	"errors"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// shortenAttempts is how many histories shorten tries at most.
const shortenAttempts = 60

// shorten drops steps from a history that fails while it still fails: halves of it, then quarters, and so on to single
// steps. It returns the shortest that it found, and its error, which is err if that is h itself.
func (h *history) shorten(err error, try func(*history) error) (shortest *history, _ error) {
	shortest, attempts := h, 0
	for size := max(1, len(h.steps)/2); ; {
		dropped := false
		for from := 0; from < len(shortest.steps) && len(shortest.steps) > 1; {
			if attempts++; attempts > shortenAttempts {
				return shortest, err
			}
			less := shortest.without(from, min(from+size, len(shortest.steps)))
			if len(less.steps) > 0 {
				if failed := try(less); failed != nil {
					shortest, err, dropped = less, failed, true
					continue
				}
			}
			from += size
		}
		if size == 1 && !dropped {
			return shortest, err
		}
		size = max(1, size/2)
	}
}

// TestShorten checks that what is left fails, that nothing of it can be dropped, and that it can be run again from its text.
func TestShorten(t *testing.T) {
	t.Parallel()
	h := randomHistory(7)
	h.steps = append(h.steps, "gc", "prune m w1 keep=2", "source app3", "gc untagged=1")
	failed := errors.New("failed")
	less, err := h.shorten(nil, func(h *history) error {
		if slices.Contains(h.steps, "source app3") && slices.Contains(h.steps, "prune m w1 keep=2") {
			return failed
		}
		return nil
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	fail.Diff(t, []string{"prune m w1 keep=2", "source app3"}, less.steps)
	again, err := parseHistory("# a comment\n\n" + less.String())
	fail.On(t, err)
	fail.Diff(t, less.String(), again.String())
	fail.Diff(t, randomHistory(7).String(), randomHistory(7).String())
}
