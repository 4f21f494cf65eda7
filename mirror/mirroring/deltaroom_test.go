package mirroring_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeltaNoRoom fills the disk with temporary files while deltas are made, and while they are read. The errors name the
// folder, and with more room, the same runs succeed.
func TestDeltaNoRoom(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	here, there := filepath.Join(s.Medium("here", 24), "workspace"), filepath.Join(s.Medium("there", 24), "workspace")
	in := func(workspace string) change { return func(o *mirroring.Options) { o.Workspace = workspace } }
	first := s.publish(1)
	s.disk("disk1", in(here))
	_, err := s.importing("site", []string{"disk1"}, in(there))
	fail.On(t, err)
	second := s.publish(2)

	fill, free := s.Filler(filepath.Dir(here))
	s.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + s.layers[second], Action: mirrortest.Once(fill)})
	_, err = s.writing("disk2", in(here))
	mirrortest.Refused(t, err, advice.NoSpace, here+"/cache/deltas has no space", "free some space")
	s.Source.Script()
	free()
	s.disk("disk2", in(here))

	fill, free = s.Filler(filepath.Dir(there))
	s.Mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + s.layers[first], Nth: 2, Action: mirrortest.Once(fill)}) // the first finds out whether it can be read
	_, err = s.importing("site", []string{"disk2"}, in(there))
	mirrortest.Refused(t, err, advice.NoSpace, "not enough space in "+there+"/cache/deltas: 1.3 MiB are still to be written, 0 B are free", "free 1.3 MiB more")
	s.Mirror.Script()
	free()
	_, err = s.importing("site", []string{"disk2"}, in(there))
	fail.On(t, err)
	s.has("site", second)
}
