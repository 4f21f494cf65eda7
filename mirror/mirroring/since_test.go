package mirroring

import (
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestSinceInTheFuture checks that an archive that omits everything is not written by a wrong date.
func TestSinceInTheFuture(t *testing.T) {
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	for _, since := range []string{tomorrow, "2999-01-01", "2999-01-01T00:00:00Z"} {
		since, err := ParseSince(since)
		fail.On(t, err)
		o := Options{Selection: selection.Selection{Config: "imageset.yaml"}, Destination: "file:///disk", ArchiveOptions: ArchiveOptions{Since: since}}
		if err := o.Check(); err == nil || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "Options.Since "+since.String()+" is in the future") {
			t.Errorf("%s: %v", since, err)
		}
	}
	today, err := ParseSince(time.Now().Format(time.DateOnly))
	fail.On(t, err)
	fail.On(t, (&ArchiveOptions{Since: today}).checkSince())
}

// TestParseSince reads numbers and dates, and writes them as they were read.
func TestParseSince(t *testing.T) {
	day := time.Date(2026, 10, 1, 0, 0, 0, 0, time.Local)
	for text, want := range map[string]Since{
		"2":                    {Sequence: 2},
		"2026-10-01":           {Date: day},
		"2026-10-01T10:00:00Z": {Date: time.Date(2026, 10, 1, 10, 0, 0, 0, time.UTC)},
		"":                     {}, "0": {}, "-1": {}, "soon": {}, "2026-13-01": {},
	} {
		got, err := ParseSince(text)
		if want == (Since{}) {
			if advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "Options.Since ") {
				t.Errorf("%q: %v, %v", text, got, err)
			}
			continue
		}
		if err != nil || got.Sequence != want.Sequence || !got.Date.Equal(want.Date) || got.String() != text {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, s := range []Since{{Sequence: -1}, {Sequence: 1, Date: day}} {
		if err := (&ArchiveOptions{Since: s}).checkSince(); advice.KindOf(err) != advice.Input {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
