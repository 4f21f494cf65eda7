package verify_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state"
)

func verifyArchive(s *mirrortest.Site, locations ...string) (*verify.VerifiedArchive, error) {
	r, err := verify.Run(s.T.Context(), verify.Options{Env: s.Env, Locations: locations})
	if r == nil {
		return nil, err
	}
	return r.Archive, err
}

// TestArchive verifies an archive on two disks, one of them damaged and later repaired, and archives that build on it.
func TestArchive(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk := s.Exported(s.Config("ops.yaml", mirrortest.FirstMonth), "disk", func(o *mirroring.Options) { o.VolumeSize = 150_000 })
	const name = "gantry-000001.0002.tar"
	fail.On(t, errors.Join(os.CopyFS(s.Path("spare"), os.DirFS(s.Path("disk"))), os.Mkdir(s.Path("second"), 0o755), os.Rename(s.Path("disk/"+name), s.Path("second/"+name))))
	run := func(locations ...string) (*verify.VerifiedArchive, error) { return verifyArchive(s, locations...) }
	second := s.Archive("second")
	v, err := run(disk)
	mirrortest.Refused(t, err, advice.Mismatch, "is damaged")
	if len(v.Damage) != 1 || v.Damage[0].File != name || len(v.Damage[0].Breaks) == 0 || len(v.Broken) == 0 {
		t.Errorf("without a volume: %+v", v.Assessment)
	}
	if v, err = run(disk, second); err != nil || len(v.Damage) > 0 || v.Images == 0 || v.Bytes == 0 {
		t.Errorf("with both folders: %+v, %v", v, err)
	}
	_, err = run(disk, s.Docker(""))
	mirrortest.Refused(t, err, advice.Input, "each of its folders")

	have, p := s.OpenArchive(s.Archive("spare"))
	info := have.Selected()
	blob := mirrortest.Largest(have, name)
	s.Spoil("second", blob)
	v, err = run(disk, second)
	mirrortest.Refused(t, err, advice.Mismatch)
	if len(v.Damage) != 1 || v.Damage[0].Entry != "blobs/sha256/"+blob.Digest.Encoded() || v.Damage[0].Recoverable {
		t.Errorf("with a damaged blob: %+v", v.Damage)
	}
	repair := s.Follow("repair", have, archive.Options{Repair: &archive.Repair{SetRef: info.SetRef, Plan: info.Plan}}, []ocispec.Descriptor{{Digest: blob.Digest, Size: blob.ContentSize}})
	if v, err = run(disk, second, repair); err != nil || len(v.Damage) != 1 || !v.Damage[0].Recoverable || len(v.Broken) > 0 {
		t.Errorf("with the repair: %+v, %v", v, err)
	}

	// All content of the next archive is in the first.
	base := &archive.Base{Sets: []state.SetRef{info.SetRef}, Has: func(digest.Digest) bool { return true }, Plan: info.Plan}
	next := s.Follow("next", have, archive.Options{Base: base}, slices.Collect(mirror.Content(p)))
	if v, err = run(next); err != nil || v.Earlier == nil || !slices.Equal(v.Earlier.Sequences, []int{1}) || !v.Earlier.Plan {
		t.Errorf("the next alone: %+v, %v", v, err)
	}
	if v, err = run(next, s.Archive("spare")); err != nil || v.Earlier != nil || v.Images != len(p.Images) {
		t.Errorf("the next with the first: %+v, %v", v, err)
	}
	chained(s, disk, second, repair)
}

// chained verifies the last of three archives that build on each other, without and with the one between. first are the
// folders of the first.
func chained(s *mirrortest.Site, first ...string) {
	s.T.Helper()
	// Without the second of three archives, the first is not read.
	third := s.Exported(s.Config("ops.yaml", mirrortest.SecondMonth), "third")
	fourth := s.Exported(s.Path("ops.yaml"), "fourth")
	v, err := verifyArchive(s, append([]string{fourth}, first...)...)
	if err != nil || !slices.Equal(v.Unread, []int{1}) || v.Earlier == nil || !slices.Equal(v.Earlier.Sequences, []int{2}) {
		s.T.Errorf("without the one between: %+v, %v", v, err)
	}
	if v, err = verifyArchive(s, append([]string{fourth, third}, first...)...); err != nil || len(v.Unread) > 0 || v.Earlier != nil {
		s.T.Errorf("with all three: %+v, %v", v, err)
	}
}
