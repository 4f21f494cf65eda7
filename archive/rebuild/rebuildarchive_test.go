package rebuild_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// rebuilt rebuilds volumes of the archive in these folders.
func rebuilt(s *mirrortest.Site, to string, sequence int, folders ...string) (*rebuild.Result, error) {
	return rebuild.Archive(s.T.Context(), rebuild.Options{Options: open.Options{Env: s.Env, Folders: folders, Sequence: sequence}, To: to})
}

// verified verifies the archive in these folders.
func verified(s *mirrortest.Site, folders ...string) error {
	_, err := verify.Run(s.T.Context(), verify.Options{Env: s.Env, Locations: folders})
	return err
}

// TestRebuild writes an archive with parity, loses a volume and damages another place, rebuilds both and fills the mirror.
// Until then, every verb that finds the damage says what to do.
func TestRebuild(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	redundant := func(o *mirroring.Options) { o.Redundancy = 10 }
	disk, have, _ := s.Disk("disk", redundant)
	second, third := have.Selected().Volumes[1].Name, have.Selected().Volumes[2].Name
	got, err := rebuilt(s, "", 0, disk)
	if err != nil || got.Sequence != 1 || got.Name != "imageset" || len(got.Volumes) != 0 || !s.Exists("disk/gantry-000001.0001.parity") {
		t.Errorf("of what is intact: %+v, %v", got, err)
	}
	want := s.Read("disk/" + second)
	s.Remove("disk/" + second)
	mirrortest.Refused(t, verified(s, disk), advice.Mismatch, "gantry archive rebuild")
	from := s.MirrorOptions("", s.Docker("rebuilt"))
	from.From, from.Workspace = []string{disk}, s.Path("inside")
	_, err = mirroring.Run(t.Context(), from)
	mirrortest.Refused(t, err, advice.Mismatch, second, "gantry archive rebuild")
	if got, err = rebuilt(s, "", 0, disk); err != nil || len(got.Volumes) != 1 || got.Volumes[0].Name != second {
		t.Errorf("%+v, %v", got, err)
	}
	if s.Read("disk/"+second) != want {
		t.Error("the volume differs")
	}

	// A damaged place, on a disk that is not changed.
	s.Spoil("disk", mirrortest.Largest(have, third))
	if got, err = rebuilt(s, s.Archive("to"), 0, disk); err != nil || len(got.Volumes) != 1 || got.Volumes[0].Name != third {
		t.Errorf("%+v, %v", got, err)
	}
	mirrortest.Refused(t, verified(s, disk), advice.Mismatch, "is damaged")
	s.Imported(s.Docker("rebuilt"), s.Archive("to"), disk)
	s.VerifyCatalog("rebuilt", mirrortest.Acme, 4)

	// More than the parity allows.
	s.Remove("disk/"+second, "disk/"+third)
	got, err = rebuilt(s, "", 0, disk)
	mirrortest.Refused(t, err, advice.Mismatch, "too much is lost", second, third, "repair-request")
	if got != nil || s.Exists("disk/"+second) {
		t.Errorf("the result is %+v", got)
	}
	plain := s.Exported(s.Config("store.yaml", mirrortest.StoreOnly), "plain")
	_, err = rebuilt(s, "", 0, plain)
	mirrortest.Refused(t, err, advice.Input, "there are no parity files")
}

// TestRebuildEarlier damages an archive that a later one builds on: the hint names it, and the command that it prints
// repairs it.
func TestRebuildEarlier(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	small := func(o *mirroring.Options) { o.Name, o.VolumeSize, o.Redundancy = "ops", 150_000, 10 }
	one := s.Exported(s.Config("one.yaml", mirrortest.FirstMonth), "one", small)
	two := s.Exported(s.Config("two.yaml", mirrortest.SecondMonth), "two", small)
	s.Remove("one/gantry-000001.0002.tar")
	mirrortest.Refused(t, verified(s, one, two), advice.Mismatch, "gantry archive rebuild with Options.Sequence 1, and repeat")
	if got, err := rebuilt(s, "", 1, one, two); err != nil || len(got.Volumes) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	fail.On(t, verified(s, one, two))
}
