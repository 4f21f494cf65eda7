package filter

import (
	"fmt"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// FuzzComplete reads bytes as a channel and a selection. No channel causes a panic or an endless
// loop. A channel that OLM accepts can always be filtered, and the result has the guaranteed
// properties.
func FuzzComplete(f *testing.F) {
	f.Add([]byte{3, 5, 1, 0, 0, 1, 1, 0, 0, 2, 1, 0, 0})
	f.Add([]byte{6, 33, 0, 0, 0, 0, 0, 0, 9, 1, 255, 3, 9, 2, 7, 1, 4, 4, 4, 4, 4, 4, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		n := 1 + next()%8
		name := func(i int) string { return fmt.Sprintf("p.v%d", i) }
		versions := map[string]semver.Version{}
		for i := range n {
			versions[name(i)] = semver.Version{Major: 1, Minor: uint64(i)}
		}
		selection := next()
		selected := make([]bool, n)
		entries := make([]catalog.Entry, n)
		var some, itself bool
		for i := range entries {
			selected[i] = selection>>i&1 == 1 || i == n-1 && !some
			some = some || selected[i]
			e := catalog.Entry{Name: name(i)}
			if r := next(); r%(n+2) != 0 {
				e.Replaces = name(r%(n+2) - 1)
			}
			skips := next()
			for j := range n + 1 {
				if skips>>j&1 == 1 {
					e.Skips = append(e.Skips, name(j))
					itself = itself || j == i
				}
			}
			if r := next(); r != 0 {
				e.SkipRange = fmt.Sprintf(">=1.%d.0 <1.%d.0", r&7, r>>3&7)
			}
			entries[i] = e
		}
		c := newChannel(entries, versions)
		kept, ok := c.complete(selected)
		if ok != c.valid && c.valid {
			t.Fatal("a valid channel cannot be filtered")
		}
		if exact, ok := c.exactly(selected); ok && c.valid && !itself {
			checkSubset(t, c, selected, exact, true)
		}
		if ok && c.valid && !itself {
			checkSubset(t, c, selected, kept, false)
		}
		if t.Failed() {
			t.Log(dump(c, selected, kept))
		}
	})
}
