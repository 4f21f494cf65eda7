package open_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestRequestRepair checks that the request lists a damaged blob and the content of a lost volume, and nothing else. With
// the repair, the archive is complete.
func TestRequestRepair(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk, whole, p := s.Disk("disk")
	fail.On(t, os.CopyFS(s.Path("sound"), os.DirFS(s.Path("disk"))))
	info := whole.Selected()
	o := open.Options{Env: s.Env, Folders: []string{disk}}
	if r, damage, err := open.RequestRepair(t.Context(), o); err != nil || !r.IsEmpty() || len(damage) > 0 {
		t.Errorf("of what is intact: %+v, %v, %v", r, damage, err)
	}
	blob := mirrortest.Largest(whole, "gantry-000001.0002.tar")
	want := map[digest.Digest]bool{blob.Digest: true}
	s.Spoil("disk", blob)
	for e := range whole.Entries() {
		if e.Volume == "gantry-000001.0003.tar" && e.IsContent {
			want[e.Digest] = true
		}
	}
	s.Remove("disk/gantry-000001.0003.tar")
	r, damage, err := open.RequestRepair(t.Context(), o)
	if err != nil || len(damage) < 2 {
		t.Fatalf("%v, %v", damage, err)
	}
	got := map[digest.Digest]bool{}
	var content []ocispec.Descriptor
	for _, c := range r.Content {
		got[c.Digest] = true
		content = append(content, ocispec.Descriptor{Digest: c.Digest, Size: c.Size, MediaType: c.MediaType})
		holders, err := mirror.ImagesByContent(p, []digest.Digest{c.Digest})
		fail.On(t, err)
		for _, source := range c.Sources {
			if !slices.ContainsFunc(holders[c.Digest], func(img *plan.Image) bool { return img.Source == source }) {
				t.Errorf("%s is not in %s", c.Digest, source)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Name != "imageset" || r.SetRef != info.SetRef || r.Plan != info.Plan || r.PlanLost {
		t.Errorf("%+v: %s", r, diff)
	}
	o.Sequence = 1
	if again, _, err := open.RequestRepair(t.Context(), o); err != nil || cmp.Diff(r, again) != "" {
		t.Errorf("of sequence 1: %v, %s", err, cmp.Diff(r, again))
	}

	sound, _ := s.OpenArchive(s.Archive("sound"))
	repair := s.Follow("repair", sound, archive.Options{Repair: &archive.Repair{SetRef: r.SetRef, Plan: r.Plan}}, content)
	both := open.Options{Env: s.Env, Folders: []string{disk, repair}}
	if r, damage, err := open.RequestRepair(t.Context(), both); err != nil || !r.IsEmpty() || len(damage) == 0 {
		t.Errorf("with the repair: %+v, %v, %v", r, damage, err)
	}
	_, err = verify.Run(t.Context(), verify.Options{Env: s.Env, Locations: both.Folders})
	fail.On(t, err)
	if i, err := inspect.Archive(t.Context(), both); err != nil || !i.Sets[0].Repair || i.Sets[0].Volumes[0].Path != s.Path("repair/gantry-000001-repair.0001.tar") {
		t.Errorf("%+v, %v", i, err)
	}
}
