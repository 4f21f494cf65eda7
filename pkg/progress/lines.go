package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// quiet is how long a run without progress writes no line.
const quiet = time.Minute

// Lines is the View that writes a line for each frame with progress. Without progress, it writes
// once a minute what the run is waiting for.
func Lines(w io.Writer) View { return &lines{w: w} }

// TimedLines is Lines with the time at the beginning of each line, for a log without times of its
// own. The time is in UTC: "2026-11-02T15:04:05Z".
func TimedLines(w io.Writer) View { return &lines{w: w, timed: true} }

type lines struct {
	w     io.Writer
	timed bool
	last  Reading
	said  time.Time // when the last line was written
}

// write writes a line. Errors are ignored.
func (l *lines) write(at time.Time, text string) {
	if l.timed {
		text = at.UTC().Format(time.RFC3339) + " " + text
	}
	_, _ = io.WriteString(l.w, text+"\n")
}

func (l *lines) Clear() {}

func (l *lines) Draw(f Frame) {
	_, total := f.position()
	if total <= 0 {
		return
	}
	if l.said.IsZero() {
		l.said = f.At
	} else if f.What == l.last.What && f.Done == l.last.Done && f.Moved == l.last.Moved && f.ImagesDone == l.last.ImagesDone && f.RequestsDone == l.last.RequestsDone {
		if f.At.Sub(l.said) < quiet {
			return
		}
		l.said = f.At
		l.write(f.At, waiting(f))
		return
	}
	l.last, l.said = f.Reading, f.At
	l.write(f.At, line(f))
}

// waiting names the largest pending item.
func waiting(f Frame) string {
	if len(f.Items) == 0 {
		return f.What + ": still waiting for a response"
	}
	it := f.Items[0]
	return fmt.Sprintf("%s: still waiting for %s, %s", f.What, printable(it.Name), of(it.Done, it.Size))
}

// line returns a frame as a line of text.
func line(f Frame) string {
	parts := counts(f.Reading)
	if f.Total > 0 {
		done, total := f.position()
		parts = append(parts, fmt.Sprintf("%s (%d%%)", of(min(f.Done, f.Total), f.Total), percent(done, total)))
		if f.PerSecond > 0 {
			parts = append(parts, Bytes(int64(f.PerSecond))+"/s")
		}
	}
	if f.Left > 0 {
		parts = append(parts, "about "+Duration(f.Left)+" left")
	}
	parts = append(parts, f.Facts...)
	return f.What + ": " + strings.Join(parts, ", ")
}
