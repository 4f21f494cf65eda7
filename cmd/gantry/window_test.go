package main

import (
	"os"
	"time"

	"github.com/gantry-mirror/gantry/pkg/window"
)

// clockFile is set in a process that reads the time of the day for --window from this file: "23:00".
const clockFile = "GANTRY_TEST_CLOCK_FILE"

// readsClock makes a gate read its time from a file, often.
func readsClock(file string) func(*window.Gate) {
	return func(g *window.Gate) {
		g.Every = 5 * time.Millisecond
		g.Now = func() time.Time {
			text, err := os.ReadFile(file)
			if err != nil {
				return time.Time{}
			}
			at, err := time.Parse("15:04", string(text))
			if err != nil {
				return time.Time{}
			}
			return time.Date(2026, 11, 23, at.Hour(), at.Minute(), 0, 0, time.UTC)
		}
	}
}
