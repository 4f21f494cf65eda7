package mirroring_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

func compact(how string) change { return func(o *mirroring.Options) { o.Compact = how } }

// TestCompact carries three versions on one disk, whose layers are based on each other, and the next one on another disk.
func TestCompact(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	var digests []string
	for month := range 3 {
		digests = append(digests, s.publish(month))
	}
	refs := elements.Map(digests, func(d string) string { return s.Source.Host + "/org/app@" + d })
	s.months[0] = s.Images(append(refs, s.Source.Host+"/org/app:stable")...)

	planned, err := planning.Make(t.Context(), planning.Options{
		Env: s.Env, Selection: selection.Selection{Config: s.months[0]}, Name: "ops", Workspace: s.Workspace(), Destination: s.Archive("disk1"),
		Deltas: (&mirroring.CompactOptions{Compact: mirroring.DeltaAuto, DiskSpeed: 1e6}).Planned(),
	})
	fail.On(t, err)
	if d := planned.Deltas; d == nil || !d.Compact || d.Blobs != 4 || d.Seconds != 10+d.Bytes/1e6 {
		t.Errorf("planned: %+v", d)
	}
	whole := s.disk("whole", delta(mirroring.DeltaOff), compact(mirroring.DeltaOff))
	fail.On(t, os.RemoveAll(filepath.Join(s.Workspace(), "exports")))
	fail.On(t, os.RemoveAll(s.Workspace()))
	first := s.disk("disk1", compact(mirroring.DeltaMax), delta(mirroring.DeltaMax))
	if d := first.Deltas; !d.Compact || d.Blobs < 2 || first.BuildsOn != 0 || first.Bytes*2 > whole.Bytes {
		t.Errorf("%d bytes, and whole %d: %+v", first.Bytes, whole.Bytes, d)
	}
	if again := s.disk("disk1", compact(mirroring.DeltaAuto), delta(mirroring.DeltaAuto)); !again.AlreadyPresent || again.Set != first.Set {
		t.Errorf("a second run writes it again: %+v", again)
	}
	s.imports("site", "disk1")
	s.has("site", digests[2])

	// The next disk is based on what the site has, and on nothing else.
	fourth := s.publish(4)
	s.months[0] = s.Images(s.Source.Host + "/org/app:stable")
	if next := s.disk("disk2", compact(mirroring.DeltaMax), delta(mirroring.DeltaMax)); next.Deltas.Blobs == 0 || next.BuildsOn != 1 {
		t.Errorf("the next disk: %+v", next)
	}
	s.imports("site", "disk2")
	s.has("site", fourth)
}

// TestCompactOptions refuses what contradicts itself.
func TestCompactOptions(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	s.publish(1)
	for name, o := range map[string]change{
		"unknown":       compact("much"),
		"delta":         func(o *mirroring.Options) { o.Compact, o.Delta = mirroring.DeltaMax, mirroring.DeltaAuto },
		"time":          func(o *mirroring.Options) { o.Compact, o.DeltaTime = mirroring.DeltaMax, 1 },
		"speed alone":   func(o *mirroring.Options) { o.DiskSpeed = 1e6 },
		"no dependents": func(o *mirroring.Options) { o.Compact, o.CompactDependents = mirroring.DeltaAuto, -1 },
	} {
		_, err := s.write(0, "disk", o)
		if err == nil {
			t.Errorf("%s: it is accepted", name)
			continue
		}
		mirrortest.Refused(t, err, advice.Input)
	}
}
