// Package progress shows a person how far a run is.
//
// On a terminal it draws one bar over all bytes, with speed and time left; off
// a terminal it writes a plain line every ten seconds, so that a log stays
// readable. It looks at the run from outside, at its own pace: it is never on
// the way of the data, and a terminal that cannot be written to stops nothing.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A Reading is how far something is: in bytes, in images, or in both. What is
// not counted is 0. Where bytes are counted, they decide how much is left.
type Reading struct {
	Images, ImagesDone int64
	Total, Done        int64 // bytes
}

// position is the reading as one number and what it ends at.
func (r Reading) position() (done, total int64) {
	if r.Total > 0 {
		return r.Done, r.Total
	}
	return r.ImagesDone, r.Images
}

// Options say where and how progress is shown.
type Options struct {
	// Terminal asks for a bar that is redrawn in place.
	Terminal bool
	// Tick paces the display; nil means a tenth of a second for a bar and ten
	// seconds for lines.
	Tick <-chan time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Show shows what read returns on w until the returned function is called,
// which clears the bar and waits for the display to end.
func Show(w io.Writer, what string, read func() Reading, opts Options) (stop func()) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	halt := func() {}
	if opts.Tick == nil {
		every := 10 * time.Second
		if opts.Terminal {
			every = 100 * time.Millisecond
		}
		t := time.NewTicker(every)
		opts.Tick, halt = t.C, t.Stop
	}
	draw, clear := lines(w, what, opts.Now)
	if opts.Terminal {
		draw, clear = bar(w, what)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				clear()
				return
			case <-opts.Tick:
				draw(read())
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			halt()
			close(done)
			<-ended
		})
	}
}

// bar draws with progressbar, which is told absolute positions only. What the
// terminal does with it is no matter for the run.
func bar(w io.Writer, what string) (draw func(Reading), clear func()) {
	var b *progressbar.ProgressBar
	draw = func(r Reading) {
		done, total := r.position()
		if total <= 0 {
			return
		}
		if b == nil {
			b = newBar(w, what, r.Total > 0)
		}
		if b.GetMax64() != total {
			b.ChangeMax64(total)
		}
		if r.Images > 0 {
			b.Describe(fmt.Sprintf("%s %d/%d images", what, r.ImagesDone, r.Images))
		}
		// A finished bar cannot be drawn again, and the last bytes may be
		// sent once more: it never says more than almost done.
		_ = b.Set64(max(0, min(done, total-1)))
	}
	return draw, func() {
		if b != nil {
			_ = b.Clear()
		}
	}
}

func newBar(w io.Writer, what string, bytes bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(24),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)
}

// lines writes a line when something changed.
func lines(w io.Writer, what string, now func() time.Time) (draw func(Reading), clear func()) {
	start := now()
	var last Reading
	draw = func(r Reading) {
		done, total := r.position()
		if r == last || total <= 0 {
			return
		}
		last = r
		var parts []string
		if r.Images > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d images", r.ImagesDone, r.Images))
		}
		if r.Total > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", Bytes(r.Done), Bytes(r.Total)))
		}
		took := now().Sub(start)
		if s := took.Seconds(); s >= 1 && done > 0 {
			if r.Total > 0 {
				parts = append(parts, Bytes(int64(float64(done)/s))+"/s")
			}
			left := time.Duration(float64(took) * float64(total-done) / float64(done))
			parts = append(parts, fmt.Sprintf("about %s left", left.Round(time.Second)))
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", what, strings.Join(parts, ", "))
	}
	return draw, func() {}
}

// Bytes writes a size as a person reads it: "512 B", "1.5 MiB".
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 && n > -1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for (f >= 1023.95 || f <= -1023.95) && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
