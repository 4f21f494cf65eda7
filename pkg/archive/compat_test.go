package archive_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestArchiveOfVersion0 checks that archives of version 0 can be opened and verified, alone and
// with the archive they build on.
func TestArchiveOfVersion0(t *testing.T) {
	const dir = "../../testdata/compat/v0/"
	for _, folders := range [][]string{{dir + "disk-1"}, {dir + "disk-2"}, {dir + "disk-1", dir + "disk-2"}} {
		a, err := archive.Open(folders...)
		fail.On(t, err)
		if err := a.Verify(t.Context(), nil); err != nil {
			t.Errorf("%v: %v", folders, err)
		}
		if n := a.Selected(); n.Series != "imageset" || len(n.BuildsOn) != n.Sequence-1 {
			t.Errorf("%v: %+v", folders, n)
		}
		fail.On(t, a.Close())
	}
}
