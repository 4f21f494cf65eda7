package mirroring

import (
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestSinceInTheFuture checks that an archive that omits everything is not written by a wrong date.
func TestSinceInTheFuture(t *testing.T) {
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	for _, since := range []string{tomorrow, "2999-01-01", "2999-01-01T00:00:00Z"} {
		o := Options{Selection: selection.Selection{Config: "imageset.yaml"}, Destination: "file:///disk", ArchiveOptions: ArchiveOptions{Since: since}}
		if err := o.Check(); err == nil || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "Options.Since "+since+" is in the future") {
			t.Errorf("%s: %v", since, err)
		}
	}
	o := ArchiveOptions{Since: time.Now().Format(time.DateOnly)}
	if _, err := o.since(); err != nil {
		t.Error(err)
	}
}
