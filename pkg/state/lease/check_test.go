package lease

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, m := t.Context(), newMemory()
		running := func(Record) bool { return false }
		held := func() bool {
			t.Helper()
			err := Check(ctx, &side{memory: m}, running)
			var h *HeldError
			if err != nil && !errors.As(err, &h) {
				t.Fatal(err)
			}
			return err != nil
		}
		if held() {
			t.Error("an empty registry is held")
		}
		for _, shard := range []string{"", "2/4"} {
			o := owner("a")
			if o.Shard = shard; shard != "" {
				o.Group = "plan"
			}
			l, err := Acquire(ctx, &side{memory: m}, o)
			fail.On(t, err)
			_, release := l.Hold(ctx)
			if !held() {
				t.Errorf("the lease of shard %q is not found", shard)
			}
			fail.On(t, Check(ctx, &side{memory: m}, func(Record) bool { return true }))
			time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
			if !held() {
				t.Error("a renewed lease is not found")
			}
			if err := release(); err != nil || held() {
				t.Errorf("it is held after its release: %v", err)
			}
		}
		_, err := Acquire(ctx, &side{memory: m}, owner("b"))
		fail.On(t, err)
		time.Sleep(staleAfter + time.Minute) //nolint:forbidigo // in a synctest bubble
		if held() {
			t.Error("a stale lease is held")
		}
	})
}
