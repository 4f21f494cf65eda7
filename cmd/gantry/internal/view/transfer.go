package view

import (
	"fmt"
	"time"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Transfer returns the duration and the amounts of a copy as one line.
func Transfer(t *copying.Transfer) string {
	return joined("; ",
		"took "+shortTime(t.Seconds)+textIf(t.BytesPerSecond > 0, ", %s/s", progress.Bytes(t.BytesPerSecond)),
		joined(", ",
			textIf(t.Requests.Source > 0, "%s at the source", Number(t.Requests.Source, "request", "requests")),
			textIf(t.Requests.Destination > 0, "%s at the destination", Number(t.Requests.Destination, "request", "requests"))),
		textIf(t.Retries > 0, "%s", Number(t.Retries, "retry", "retries")),
		textIf(t.Slowest != "", "slowest: %s", t.Slowest))
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
