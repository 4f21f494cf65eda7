package progress

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const mib = 1 << 20

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// play shows readings at intervals of apart, and calls after, if it is not nil, after each of them.
func play(view View, apart time.Duration, after func(i int), readings ...Reading) {
	tick, drawn := make(chan time.Time), make(chan struct{})
	now, i := start, 0
	stop := Show(&signaling{view, drawn}, func() Reading { return readings[i] }, Options{Tick: tick, Now: func() time.Time { return now }})
	for i = range readings {
		now = now.Add(apart)
		tick <- now
		<-drawn
		if after != nil {
			after(i)
		}
	}
	stop()
	stop() // a second call does nothing
}

// signaling is a View that signals when a frame was drawn.
type signaling struct {
	View
	drawn chan<- struct{}
}

func (v *signaling) Draw(f Frame) {
	v.View.Draw(f)
	v.drawn <- struct{}{}
}

// frames is a View that records its frames.
type frames struct {
	all   []Frame
	clear int
}

func (v *frames) Draw(f Frame) { v.all = append(v.all, f) }
func (v *frames) Clear()       { v.clear++ }

func moved(n int64) Reading {
	return Reading{What: "copying", Total: 1000 * mib, Done: n * mib, Moved: n * mib}
}

func TestSpeedIsThatOfTheWindow(t *testing.T) {
	// One minute at 10 MiB/s, then 1 MiB/s.
	var readings []Reading
	n := int64(0)
	for i := range 24 {
		if i < 12 {
			n += 50
		} else {
			n += 5
		}
		readings = append(readings, moved(n))
	}
	var v frames
	play(&v, 5*time.Second, nil, readings...)
	if got := v.all[11].PerSecond; got < 9*mib || got > 10*mib {
		t.Errorf("after a minute at 10 MiB/s the speed is %s/s", Bytes(int64(got)))
	}
	last := v.all[23]
	if last.PerSecond != mib || last.Left != 340*time.Second {
		t.Errorf("after a minute at 1 MiB/s: %s/s, %v left; want 1.0 MiB/s and 5m40s", Bytes(int64(last.PerSecond)), last.Left)
	}
	if v.clear != 1 {
		t.Errorf("the view was ended %d times", v.clear)
	}
}

func TestWhatIsMountedMakesNoSpeed(t *testing.T) {
	var v frames
	a, b, c := moved(10), moved(10), moved(20)
	b.Done += 500 * mib
	c.Done += 500 * mib
	play(&v, 10*time.Second, nil, a, b, c)
	if got := v.all[1]; got.PerSecond != 0 || got.Left >= 0 {
		t.Errorf("mounted bytes make %v bytes a second and %v left", got.PerSecond, got.Left)
	}
	if got := v.all[2]; got.PerSecond < mib/3 || got.PerSecond > mib/3+1 || got.Left != 24*time.Minute {
		t.Errorf("%v bytes a second and %v left, want %v and 24m", got.PerSecond, got.Left, mib/3)
	}
}

func TestAnAttemptThatFailedIsNoSlowness(t *testing.T) {
	var v frames
	play(&v, 5*time.Second, nil, moved(50), moved(100), moved(20), moved(70))
	if got := v.all[2].PerSecond; got < 3.3*mib || got > 3.4*mib {
		t.Errorf("when an attempt starts again, the speed is %s/s", Bytes(int64(got)))
	}
	if got := v.all[3].PerSecond; got != 5*mib {
		t.Errorf("after it the speed is %s/s", Bytes(int64(got)))
	}
}

func TestAnotherPhaseHasItsOwnSpeed(t *testing.T) {
	var v frames
	play(&v, 5*time.Second, nil, Reading{What: "looking", Images: 1000, ImagesDone: 500}, Reading{What: "looking", Images: 1000, ImagesDone: 900}, moved(1), moved(6))
	if got := v.all[1]; got.PerSecond != 40 || got.Left != 3*time.Second {
		t.Errorf("looking: %v images a second, %v left", got.PerSecond, got.Left)
	}
	if v.all[2].PerSecond != 0 || v.all[3].PerSecond != mib {
		t.Errorf("copying starts with %v and continues with %v bytes a second", v.all[2].PerSecond, v.all[3].PerSecond)
	}
}

// TestSmallContentTakesTime checks that a copy whose large blobs are finished has as much left as the
// requests for small ones take, and that its bar is not full.
func TestSmallContentTakesTime(t *testing.T) {
	at := func(n int64) Reading {
		return Reading{What: "copying", Images: 251, Total: 100 * mib, Done: 98*mib + n, Moved: 98*mib + n, Requests: 1000, RequestsDone: n}
	}
	var v frames
	play(&v, 10*time.Second, nil, at(100), at(200))
	if got := v.all[1]; got.Left != 162*time.Second || got.PerSecond != 5 {
		t.Errorf("with 800 requests at 5 a second, %v is left, at %v bytes a second", got.Left, got.PerSecond)
	}
	var b bytes.Buffer
	play(Lines(&b), 10*time.Second, nil, at(100), at(200))
	want := `copying: 0 of 251 images, 100 of 1000 requests, 98.0 of 100.0 MiB (35%)
copying: 0 of 251 images, 200 of 1000 requests, 98.0 of 100.0 MiB (42%), 5 B/s, about 2m42s left
`
	if b.String() != want {
		t.Errorf("lines:\n%swant:\n%s", b.String(), want)
	}
}

// TestTimedLines checks that lines of a log without times begin with the time.
func TestTimedLines(t *testing.T) {
	var b bytes.Buffer
	play(TimedLines(&b), 10*time.Second, nil, moving(1), moving(2))
	want := `2026-01-01T00:00:10Z copying: 1 of 10 images, 1.0 of 1000.0 MiB (0%)
2026-01-01T00:00:20Z copying: 2 of 10 images, 2.0 of 1000.0 MiB (0%), 51.2 KiB/s, about 5h32m left
`
	if b.String() != want {
		t.Errorf("lines:\n%swant:\n%s", b.String(), want)
	}
}

// sample returns a copy in progress.
func sample() Reading {
	return Reading{
		What: "copying", Images: 12, ImagesDone: 5, Total: 800 * mib, Done: 300 * mib, Moved: 100 * mib,
		Facts: []string{"1 failed", "2 there before", "120.0 MiB found", "80.0 MiB mounted", "3 retries"},
		Items: []Item{
			{"0123456789ab acme/large", 200 * mib, 50 * mib},
			{"123456789abc acme/a-repository-with-a-name-that-is-longer-than-most-screens/are-wide/operator", 20 * mib, 19 * mib},
			{"23456789abcd acme/empty", 0, 0},
			{"3456789abcde acme/more-came-than-said", 10, 30},
			{"456789abcdef acme/fünf\x1b[2J", 10, 5},
			{"56789abcdef0 acme/sixth", 5, 1},
		},
	}
}

func TestBar(t *testing.T) {
	e := &terminal{t: t, columns: 80, rows: 24}
	var seen []string
	early := sample()
	early.Done, early.Moved = 280*mib, 80*mib
	play(Bar(NewScreen(e, e.size)), time.Second, func(int) { seen = append(seen, e.String()) },
		Reading{}, Reading{What: "looking", Images: 12, ImagesDone: 3}, early, sample())
	want := []string{"",
		`looking  25% [=========>..............................]  3 of 12 images`,
		`copying  35% [=============>..........................]  280.0 of 800.0 MiB
  5 of 12 images, 1 failed, 2 there before, 120.0 MiB found, 80.0 MiB mounted`,
		`copying  37% [======>..............]  300.0 of 800.0 MiB  20.0 MiB/s  25s left
  5 of 12 images, 1 failed, 2 there before, 120.0 MiB found, 80.0 MiB mounted
   25%   200.0 MiB  0123456789ab acme/large
   95%    20.0 MiB  123456789abc ...-longer-than-most-screens/are-wide/operator
  100%         0 B  23456789abcd acme/empty
  100%        10 B  3456789abcde acme/more-came-than-said
   50%        10 B  456789abcdef acme/f?nf?[2J`,
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("frame %d:\n%s\nwant:\n%s", i, seen[i], want[i])
		}
	}
	if e.String() != "" || e.row != 0 || e.column != 0 {
		t.Errorf("the end leaves, with the cursor at %d,%d:\n%s", e.row, e.column, e)
	}
}

// TestBarFits checks that a bar fits on screens of any size.
func TestBarFits(t *testing.T) {
	for columns := 1; columns <= 200; columns++ {
		for _, rows := range []int{1, 2, 3, 5, 50} {
			e := &terminal{t: t, columns: columns, rows: rows}
			play(Bar(NewScreen(e, e.size)), time.Second, func(int) {
				if len(e.lines) > rows {
					t.Fatalf("%d columns, %d rows: %d lines\n%s", columns, rows, len(e.lines), e)
				}
				for _, line := range e.lines {
					if len(line) >= columns {
						t.Fatalf("%d columns: a line of %d\n%s", columns, len(line), line)
					}
				}
			}, sample(), sample(), Reading{What: "planning", Images: 3}, sample())
			if e.String() != "" {
				t.Fatalf("%d columns, %d rows: the end leaves\n%s", columns, rows, e)
			}
		}
	}
}

func TestWrittenAboveTheBar(t *testing.T) {
	e := &terminal{t: t, columns: 60, rows: 24}
	s := NewScreen(e, e.size)
	fmt.Fprintln(s, "before")
	play(Bar(s), time.Second, func(i int) {
		writes := e.writes
		switch i {
		case 0:
			fmt.Fprintln(s, "first warning")
		case 1:
			fmt.Fprint(s, "second and\nthi")
		case 2:
			fmt.Fprint(s, "rd, ")
			fmt.Fprint(s, "in pieces\nno end")
		}
		if e.writes > writes+1 {
			t.Errorf("after frame %d: %d writes, between which the screen is torn", i, e.writes-writes)
		}
		if lines := strings.Split(e.String(), "\n"); strings.Count(e.String(), "copying") != 1 || !strings.HasPrefix(lines[len(lines)-2], "copying") {
			t.Errorf("after frame %d:\n%s", i, e)
		}
	}, moving(1), moving(2), moving(3), moving(4))
	fmt.Fprintln(s, ", after")
	if want := "before\nfirst warning\nsecond and\nthird, in pieces\nno end, after"; e.String() != want {
		t.Errorf("what was written:\n%s\nwant:\n%s", e, want)
	}
}

// moving returns a copy without rows.
func moving(n int64) Reading {
	r := moved(n)
	r.Images, r.ImagesDone = 10, n
	return r
}

func TestResize(t *testing.T) {
	e := &terminal{t: t, columns: 100, rows: 24}
	s := NewScreen(e, e.size)
	widths := []int{50, 30, 100, 40, 120, 35, 60, 60}
	fmt.Fprintln(s, "kept")
	play(Bar(s), time.Second, func(i int) {
		if strings.Count(e.String(), "kept") != 1 || strings.Count(e.String(), "copyi") != 1 {
			t.Errorf("frame %d, %d columns:\n%s", i, e.columns, e)
		}
		e.resize(widths[i])
	}, slices.Repeat([]Reading{sample()}, len(widths))...)
	if e.String() != "kept" {
		t.Errorf("the end leaves:\n%s", e)
	}
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	still := moved(200)
	still.Items = []Item{{"0123456789ab acme/large", 300 * mib, 100 * mib}}
	readings := []Reading{{}, {What: "looking", Images: 12, ImagesDone: 3}, {What: "looking", Images: 12, ImagesDone: 9}, moving(10)}
	one := sample()
	one.Done, one.Moved = 310*mib, 300*mib
	readings = append(readings, one)
	readings = append(readings, slices.Repeat([]Reading{still}, 8)...)
	still.Items = nil
	readings = append(readings, slices.Repeat([]Reading{still}, 6)...)
	play(Lines(&b), 10*time.Second, nil, readings...)
	want := `looking: 3 of 12 images
looking: 9 of 12 images, about 5s left
copying: 10 of 10 images, 10.0 of 1000.0 MiB (1%)
copying: 5 of 12 images, 310.0 of 800.0 MiB (38%), 29.0 MiB/s, about 17s left, 1 failed, 2 there before, 120.0 MiB found, 80.0 MiB mounted, 3 retries
copying: 200.0 of 1000.0 MiB (20%), 14.5 MiB/s, about 55s left
copying: still waiting for 0123456789ab acme/large, 100.0 of 300.0 MiB
copying: still waiting for a response
`
	if b.String() != want {
		t.Errorf("lines:\n%swant:\n%s", b.String(), want)
	}
}

func TestNothingIsShownOfAShortRun(t *testing.T) {
	var b bytes.Buffer
	stop := Show(Lines(&b), sample, Options{Every: time.Hour})
	stop()
	e := &terminal{t: t, columns: 80, rows: 24}
	stop = Show(Bar(NewScreen(e, e.size)), sample, Options{Every: time.Hour})
	stop()
	if b.Len() > 0 || e.writes > 0 {
		t.Errorf("%q, and %d writes to the terminal", b.String(), e.writes)
	}
}

func TestTicker(t *testing.T) {
	drawn := make(chan struct{})
	stop := Show(&signaling{&frames{}, drawn}, sample, Options{Every: time.Millisecond})
	<-drawn
	<-drawn
	go func() {
		for range drawn { // the view may be drawing a frame
		}
	}()
	stop()
	close(drawn)
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", mib - 1: "1.0 MiB", 5 << 30: "5.0 GiB", -2048: "-2.0 KiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	for want, got := range map[string]string{
		"1.0 of 2.0 MiB":     of(mib, 2*mib),
		"0 B of 2.0 MiB":     of(0, 2*mib),
		"1.0 KiB of 2.0 MiB": of(1024, 2*mib),
		"1 of 2 B":           of(1, 2),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59400 * time.Millisecond: "59s", 59600 * time.Millisecond: "1m00s", 310 * time.Second: "5m10s",
		3*time.Hour + 4*time.Minute + 59*time.Second: "3h04m", 100 * time.Hour: "100h00m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}
