package histories

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
)

// How many histories make test and make test-long make. make hardening makes more.
const shortHistories, histories = 3, 20

// shortSteps is how many steps a history has at most in make test.
const shortSteps = 12

// TestHistories makes random histories: image sets are mirrored from two workspaces, also at the same time, to three mirrors
// on one registry, and change, lose content, move, and are given up; runs are killed; the source changes; others push and
// attach content; the registry collects garbage. After each step, all that image sets and others need is there. At the end,
// all of it is whole, and nothing else is left.
//
// $GANTRY_HISTORIES is how many histories are made, and $GANTRY_HISTORY the first seed. A history that fails is shortened.
// $GANTRY_HISTORY_FILE is a file with a history as it is printed then, which alone is made again.
func TestHistories(t *testing.T) {
	t.Parallel()
	first, n := 1, histories
	if mirrortest.Short(t) {
		n = shortHistories
	}
	if name := os.Getenv("GANTRY_HISTORY_FILE"); name != "" {
		text, err := os.ReadFile(name)
		if err == nil {
			var h *history
			if h, err = parseHistory(string(text)); err == nil {
				err = h.run(t, t.Logf)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, value := range map[string]*int{"GANTRY_HISTORY": &first, "GANTRY_HISTORIES": &n} {
		if text := os.Getenv(name); text != "" {
			number, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("$%s: %v", name, err)
			}
			*value = number
		}
	}
	for seed := first; seed < first+n; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			h := randomHistory(uint64(seed))
			if testing.Short() {
				h.steps = h.steps[:min(len(h.steps), shortSteps)]
			}
			begun := time.Now()
			err := h.attempt(t, "whole")
			if err == nil {
				return
			}
			t.Errorf("after %s, seed %d: %v\n%s", time.Since(begun).Round(time.Millisecond), seed, err, h)
			less, shortErr := h.shorten(err, func(h *history) error { return h.attempt(t, "shorter") })
			t.Errorf("shortened, for a file named by $GANTRY_HISTORY_FILE: %v\n%s", shortErr, less)
		})
	}
}

// attempt makes a history happen in a test of its own, whose registries end with it.
func (h *history) attempt(t *testing.T, name string) (err error) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		var said []string
		err = h.run(t, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		if testing.Verbose() {
			t.Log(strings.Join(said, "\n"))
		}
	})
	return err
}
