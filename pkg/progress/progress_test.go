package progress

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is a writer that may be read while it is written.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// play shows the readings one by one and returns what was written.
func play(t *testing.T, terminal bool, readings ...Reading) string {
	t.Helper()
	var out screen
	tick := make(chan time.Time)
	asked := make(chan struct{}, len(readings))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	i := -1
	stop := Show(&out, "copying", func() Reading { i++; asked <- struct{}{}; return readings[i] }, Options{
		Terminal: terminal, Tick: tick,
		Now: func() time.Time { now = now.Add(5 * time.Second); return now },
	})
	for range readings {
		tick <- time.Time{}
		<-asked
	}
	stop()
	stop() // a second call is harmless
	return out.String()
}

func TestLines(t *testing.T) {
	got := play(t, false,
		Reading{},
		Reading{Images: 3, Total: 4 << 20},
		Reading{Images: 3, ImagesDone: 1, Total: 4 << 20, Done: 1 << 20},
		Reading{Images: 3, ImagesDone: 1, Total: 4 << 20, Done: 1 << 20},
		Reading{Images: 3, ImagesDone: 3, Total: 4 << 20, Done: 4 << 20},
	)
	want := []string{
		"copying: 0 of 3 images, 0 B of 4.0 MiB",
		"copying: 1 of 3 images, 1.0 MiB of 4.0 MiB, 102.4 KiB/s, about 30s left",
		"copying: 3 of 3 images, 4.0 MiB of 4.0 MiB, 273.1 KiB/s, about 0s left",
	}
	if got != strings.Join(want, "\n")+"\n" {
		t.Errorf("lines:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	if strings.ContainsAny(got, "\r\x1b") {
		t.Errorf("control characters off a terminal: %q", got)
	}
}

func TestLinesOfImages(t *testing.T) {
	got := play(t, false, Reading{}, Reading{Images: 8, ImagesDone: 2}, Reading{Images: 8, ImagesDone: 8})
	want := "copying: 2 of 8 images, about 15s left\ncopying: 8 of 8 images, about 0s left\n"
	if got != want {
		t.Errorf("lines:\n%s\nwant:\n%s", got, want)
	}
}

func TestWithoutImages(t *testing.T) {
	if got := play(t, false, Reading{Total: 4 << 20, Done: 1 << 20}); !strings.HasPrefix(got, "copying: 1.0 MiB of 4.0 MiB, ") {
		t.Errorf("line %q", got)
	}
	if got := play(t, true, Reading{Total: 4 << 20, Done: 1 << 20}); !strings.Contains(got, "copying") || strings.Contains(got, "images") {
		t.Errorf("bar %q", got)
	}
}

func TestLinesOfBytes(t *testing.T) {
	if got, want := play(t, false, Reading{Total: 4 << 20, Done: 1 << 20}), "copying: 1.0 MiB of 4.0 MiB, 204.8 KiB/s, about 15s left\n"; got != want {
		t.Errorf("lines:\n%s\nwant:\n%s", got, want)
	}
}

func TestBar(t *testing.T) {
	got := play(t, true,
		Reading{Images: 3, Total: 4 << 20},
		Reading{Images: 3, ImagesDone: 3, Total: 4 << 20, Done: 9 << 20}, // more than planned: attempts count twice for a moment
	)
	if !strings.Contains(got, "copying 3/3 images") {
		t.Errorf("the bar does not say how far it is: %q", got)
	}
	if got := play(t, true, Reading{Images: 8, ImagesDone: 2}); !strings.Contains(got, "2/8 images") || strings.Contains(got, "B/s") {
		t.Errorf("a bar of images: %q", got)
	}
	if got := play(t, true, Reading{}); got != "" {
		t.Errorf("nothing to show is drawn as %q", got)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 5 << 30: "5.0 GiB", -2048: "-2.0 KiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
