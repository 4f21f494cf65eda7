package flips

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A report counts how verbs ended after flips.
type report struct {
	title string
	mu    sync.Mutex
	rows  []string                  // "what | how"
	count map[string]map[string]int // by row and outcome
}

func (r *report) add(what, how, outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := what + " | " + how
	if r.count == nil {
		r.count = map[string]map[string]int{}
	}
	if r.count[row] == nil {
		r.count[row] = map[string]int{}
		r.rows = append(r.rows, row)
	}
	r.count[row][outcome]++
}

// write prints the report, and adds it to the file in $GANTRY_FLIPS.
func (r *report) write(t *testing.T, flips int) {
	t.Helper()
	all := map[string]int{}
	for _, counts := range r.count {
		for outcome, n := range counts {
			all[outcome] += n
		}
	}
	outcomes := slices.Sorted(maps.Keys(all))
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | read with | %s |\n|---|---|%s\n", r.title, strings.Join(outcomes, " | "), strings.Repeat("--:|", len(outcomes)))
	slices.Sort(r.rows)
	row := func(name string, counts map[string]int) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, outcome := range outcomes {
			fmt.Fprintf(&b, " %s |", strings.TrimPrefix(fmt.Sprint(counts[outcome]), "0"))
		}
		b.WriteString("\n")
	}
	for _, name := range r.rows {
		row(name, r.count[name])
	}
	row(fmt.Sprintf("%d flips |", flips), all)
	t.Log("\n" + b.String())
	if file := os.Getenv("GANTRY_FLIPS"); file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		fail.On(t, err)
		defer f.Close()
		_, err = f.WriteString(b.String() + "\n")
		fail.On(t, err)
	}
}
