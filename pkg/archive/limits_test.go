package archive

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestDense checks that a set manifest that would take far more memory than its length is refused.
func TestDense(t *testing.T) {
	for _, text := range []string{
		`{"format":1,"volumes":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`,
		`{"format":1,"volumes":[{"entries":[` + strings.Repeat(`{"part":{}},`, 1<<18) + `{}]}]}`,
		`{"format":1,"features":[` + strings.Repeat(`"",`, 1<<20) + `""]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parseSet([]byte(text))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > uint64(3*len(text)) {
			t.Errorf("%.40s: %d bytes took %d of memory: %v", text, len(text), took, err)
		}
	}
}

// TestManyEntries checks that sets that are too large together are refused.
func TestManyEntries(t *testing.T) {
	s := months(t)
	open := func(most int) error {
		a := &Archive{entryLimit: most, log: slog.New(slog.DiscardHandler), chosen: map[digest.Digest][]piece{}}
		defer a.Close()
		for _, dir := range s.dirs {
			fail.On(t, a.addRoot(dir))
		}
		return a.load(0)
	}
	fail.On(t, open(1000))
	says(t, open(10), "gantry-000003.json and the sets that it builds on have more than 10 entries together")
}
