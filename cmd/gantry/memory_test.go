package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// TestGarbageLimit checks that the limits leave room for the memory in use and for the allowed garbage.
func TestGarbageLimit(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 4 << 20: 100, 16 << 20: 100, 32 << 20: 50, 64 << 20: 25, 80 << 20: 20, 1 << 40: 20} {
		garbage, got := garbageFor(live), memoryFor(live)
		if least := int64(live + live*uint64(garbage)/100); garbage != want || got < leastMemory || got < least+least/50 {
			t.Errorf("%d MiB in use: %d percent, want %d, and %d MiB", live>>20, garbage, want, got>>20)
		}
	}
}

// ownProcess is the environment variable that tells a test that it runs in a separate process.
const ownProcess = "GANTRY_TEST_OWN_PROCESS"

// TestGarbageIsLimitedWhereMuchIsInUse checks the garbage collection limit while much memory is in
// use. It runs in a separate process, because the limits stay in effect until the process ends and
// would cause constant garbage collection in the tests that follow.
func TestGarbageIsLimitedWhereMuchIsInUse(t *testing.T) {
	if os.Getenv(ownProcess) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), ownProcess+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("in a process of its own: %v\n%s", err, out)
		}
		return
	}
	t.Setenv("GOGC", "")
	limitGarbage()
	percent := func() int {
		said := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(said)
		return int(said[0].Value.Uint64())
	}
	if got := percent(); got != firstGarbage {
		t.Errorf("before the first collection garbage may be %d percent, want %d", got, firstGarbage)
	}
	for _, tc := range []struct{ held, want int }{{0, garbage}, {128 << 20, leastGarbage}} {
		held := make([]byte, tc.held)
		for end := time.Now().Add(endTime); percent() != tc.want && time.Now().Before(end); {
			runtime.GC()
			<-time.After(10 * time.Millisecond)
		}
		runtime.KeepAlive(held)
		if got := percent(); got != tc.want {
			t.Errorf("with %d MiB in use garbage may be %d percent, want %d", tc.held>>20, got, tc.want)
		}
	}
}
