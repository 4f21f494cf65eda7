package mirror

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestFailingDestinationEndsTheRun checks that a destination that accepts nothing ends the
// run, and that a failure for one blob, for one repository or of a source does not.
func TestFailingDestinationEndsTheRun(t *testing.T) {
	t.Run("an answer 500", func(t *testing.T) {
		destinationFails(t, &remote.Error{Status: http.StatusInternalServerError, Err: remote.ErrFailing})
	})
	t.Run("connections that break", func(t *testing.T) {
		destinationFails(t, &remote.Error{Message: "the connection broke", Err: remote.ErrBroken})
	})
}

func destinationFails(t *testing.T, how *remote.Error) {
	m := sample(t)
	first := m.plan().Blobs[0].Digest
	fatal := func(err error) bool { return errors.Is(err, remote.ErrUnreachable) }
	for name, tc := range map[string]struct {
		fails func(n int, call, repository string, d digest.Digest) bool
		ends  bool
		most  int // refused writes
	}{
		"everything":     {fails: func(int, string, string, digest.Digest) bool { return true }, ends: true, most: maxConsecutive + 2}, // the base layer is in three repositories
		"from the third": {fails: func(n int, _, _ string, _ digest.Digest) bool { return n > 2 }, ends: true, most: maxConsecutive},
		"one blob":       {fails: func(_ int, _, _ string, d digest.Digest) bool { return d == first }},
		"one repository": {fails: func(_ int, _, repository string, _ digest.Digest) bool { return repository == "org/a" }},
		"every third":    {fails: func(n int, _, _ string, _ digest.Digest) bool { return n%3 == 0 }},
		"all manifests":  {fails: func(_ int, call, _ string, _ digest.Digest) bool { return call == "put manifest" }, ends: true, most: maxConsecutive},
	} {
		t.Run(name, func(t *testing.T) {
			registry, n, refused := newMemoryRegistry(), 0, 0
			registry.fail = func(call, repository string, d digest.Digest) error {
				if !strings.HasPrefix(call, "put") && !strings.HasPrefix(call, "mount") {
					return nil
				}
				if n++; !tc.fails(n, call, repository, d) {
					return nil
				}
				refused++
				e := *how
				e.Op, e.Host, e.Repository = call, "registry.example", repository
				return &e
			}
			rep, err := Run(t.Context(), m.plan(), m.source(), registry, Options{Streams: 1, Fatal: fatal})
			var failing *FailingError
			if errors.As(err, &failing) != tc.ends || !tc.ends && err != nil {
				t.Fatalf("the run ended with %v", err)
			}
			if tc.ends {
				if !strings.Contains(err.Error(), "registry.example") || !errors.Is(err, how.Err) || refused > tc.most {
					t.Errorf("after %d refusals: %v", refused, err)
				}
			} else if len(rep.Failed) == 0 {
				t.Errorf("%d refusals, and nothing failed", refused)
			}
		})
	}
	source := m.source()
	for _, b := range m.plan().Blobs {
		source.broken[b.Digest] = how
	}
	if rep, err := Run(t.Context(), m.plan(), source, newMemoryRegistry(), Options{Streams: 1, Fatal: fatal}); err != nil || len(rep.Failed) == 0 {
		t.Errorf("a failing source ended the run: %v", err)
	}
}
