package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// quiet is how long nothing is said of something that does not move.
const quiet = time.Minute

// Lines is the View that writes a line for each frame in which something has
// moved. Where nothing has, it says once a minute what is waited for.
func Lines(w io.Writer) View { return &lines{w: w} }

type lines struct {
	w    io.Writer
	last Reading
	said time.Time // when the last line was written
}

func (l *lines) Clear() {}

func (l *lines) Draw(f Frame) {
	_, total := f.position()
	if total <= 0 {
		return
	}
	if l.said.IsZero() {
		l.said = f.At
	} else if f.What == l.last.What && f.Done == l.last.Done && f.Moved == l.last.Moved && f.ImagesDone == l.last.ImagesDone {
		if f.At.Sub(l.said) < quiet {
			return
		}
		l.said = f.At
		_, _ = io.WriteString(l.w, waiting(f)+"\n")
		return
	}
	l.last, l.said = f.Reading, f.At
	_, _ = io.WriteString(l.w, line(f)+"\n")
}

// waiting names the largest of what is under way.
func waiting(f Frame) string {
	if len(f.Items) == 0 {
		return f.What + ": still waiting for an answer"
	}
	it := f.Items[0]
	return fmt.Sprintf("%s: still waiting for %s, %s", f.What, printable(it.Name), of(it.Done, it.Size))
}

// line says all of a frame.
func line(f Frame) string {
	var parts []string
	if f.Images > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d images", f.ImagesDone, f.Images))
	}
	if f.Total > 0 {
		done, total := f.position()
		parts = append(parts, fmt.Sprintf("%s (%d%%)", of(done, total), percent(done, total)))
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
