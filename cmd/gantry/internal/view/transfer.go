package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Transfer returns the duration and the amounts of a copy as one line.
func Transfer(t *copying.Transfer) string {
	var b strings.Builder
	b.WriteString("took " + shortTime(t.Seconds))
	if t.BytesPerSecond > 0 {
		fmt.Fprintf(&b, ", %s/s", progress.Bytes(t.BytesPerSecond))
	}
	var sides []string
	if n := t.Requests.Source; n > 0 {
		sides = append(sides, Number(n, "request", "requests")+" at the source")
	}
	if n := t.Requests.Destination; n > 0 {
		sides = append(sides, Number(n, "request", "requests")+" at the destination")
	}
	if len(sides) > 0 {
		b.WriteString("; " + strings.Join(sides, ", "))
	}
	if t.Retries > 0 {
		b.WriteString("; " + Number(t.Retries, "retry", "retries"))
	}
	if t.Slowest != "" {
		b.WriteString("; slowest: " + t.Slowest)
	}
	return b.String()
}

// shortTime returns a duration, with fractions of a second if it is short.
func shortTime(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1fs", seconds)
	}
	return progress.Duration(time.Duration(seconds * float64(time.Second)))
}

// AllImages returns the beginning of a sentence: "the image is" or "all 3 images are".
func AllImages(n int) string {
	if n == 1 {
		return "the image is"
	}
	return fmt.Sprintf("all %d images are", n)
}
