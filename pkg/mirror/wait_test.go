package mirror

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestWait checks that a run asks before each blob and each image, and ends with the error of Wait without
// beginning anything else.
func TestWait(t *testing.T) {
	t.Parallel()
	m := sample(t)
	p := m.plan()
	var asked atomic.Int64
	wait := func(context.Context) error { asked.Add(1); return nil }
	if rep := mustRun(t, p, m.source(), newMemoryRegistry(), Options{Streams: 3, Wait: wait}); !rep.Complete() {
		t.Errorf("report %+v", rep)
	}
	fail.Diff(t, int64(len(p.Blobs)+len(p.Images)), asked.Load())
	ended := errors.New("interrupted")
	asked.Store(0)
	source := m.source()
	_, err := Run(t.Context(), p, source, newMemoryRegistry(), Options{Streams: 1, Wait: func(context.Context) error {
		if asked.Add(1) > 2 {
			return ended
		}
		return nil
	}})
	if !errors.Is(err, ended) || len(source.given) > 2 {
		t.Errorf("Run = %v after %d blobs", err, len(source.given))
	}
}
