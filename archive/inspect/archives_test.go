package inspect_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// opened returns the options that open the archive in these folders.
func opened(s *mirrortest.Site, folders ...string) open.Options {
	return open.Options{Env: s.Env, Folders: folders}
}

// inspected describes the archive in these folders.
func inspected(s *mirrortest.Site, folders ...string) *inspect.Inspection {
	s.T.Helper()
	got, err := inspect.Archive(s.T.Context(), opened(s, folders...))
	fail.On(s.T, err)
	return got
}

// listed lists the images in these folders.
func listed(s *mirrortest.Site, filter []string, folders ...string) []inspect.ArchivedImage {
	s.T.Helper()
	got, err := inspect.ListArchiveImages(s.T.Context(), inspect.ArchiveListOptions{Options: opened(s, folders...), Filter: filter})
	fail.On(s.T, err)
	return got.Images
}

// content lists the content in a folder.
func content(s *mirrortest.Site, folder string, filter ...string) []inspect.ArchivedContent {
	s.T.Helper()
	got, err := inspect.ListArchiveContent(inspect.ArchiveListOptions{Options: opened(s, folder), Filter: filter})
	fail.On(s.T, err)
	return got.Content
}

// TestLists lists images and content of an archive: all, those that match a pattern, and those in a missing volume.
func TestLists(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk, have, p := s.Disk("disk")
	var want []inspect.ArchivedImage
	for _, img := range p.Images {
		for _, name := range img.Names() {
			want = append(want, inspect.ArchivedImage{Name: name, Kind: img.Kind, Digest: img.Digest, Size: img.Size, Source: img.Source, Here: airgap.Available})
		}
	}
	fail.Diff(t, want, listed(s, nil, disk))
	// By name, by digest and by source. * matches slashes, and ? matches exactly one character.
	img := p.Images[3]
	for pattern, some := range map[string]int{
		"*/operator-index:v4.20": 1, "*operator-index*": 2, string(img.Digest): 1, img.Source: 1, "acme/operator-index": 1,
		"nothing*": 0, "?acme/operator-index:v4.20": 0, "acme/operator-inde?:v4.20": 1, "acme.operator-index:v4.20": 0,
	} {
		if got := listed(s, []string{pattern}, disk); len(got) < some || some == 0 && len(got) > 0 || len(got) == len(want) {
			t.Errorf("%s matches %d images, want %d", pattern, len(got), some)
		}
	}
	all := content(s, disk)
	if len(all) != have.Selected().Content {
		t.Errorf("%d entries, want %d", len(all), have.Selected().Content)
	}
	for _, x := range all {
		f, err := os.Open(filepath.Join(s.Path("disk"), x.Volume))
		fail.On(t, err)
		got, err := digest.FromReader(io.NewSectionReader(f, x.Offset, x.Size))
		if err := errors.Join(err, f.Close()); err != nil || got != x.Digest || x.Sequence != 1 {
			t.Errorf("%+v: there is %s, %v", x, got, err)
		}
	}
	if only := content(s, disk, "*.0002.tar"); len(only) == 0 || slices.ContainsFunc(only, func(x inspect.ArchivedContent) bool { return x.Volume != "gantry-000001.0002.tar" }) {
		t.Errorf("volume 2 has %+v", only)
	}

	lost := mirrortest.Largest(have, "gantry-000001.0002.tar").Digest
	s.Remove("disk/gantry-000001.0002.tar")
	holders, err := mirror.ImagesByContent(p, []digest.Digest{lost})
	fail.On(t, err)
	here := map[airgap.Availability]int{}
	for _, x := range listed(s, nil, disk) {
		here[x.Here]++
		if slices.ContainsFunc(holders[lost], func(h *plan.Image) bool { return h.Source == x.Source }) && x.Here != airgap.Unavailable {
			t.Errorf("%s is in the lost volume, and listed as %q", x.Name, x.Here)
		}
	}
	if len(here) != 2 || here[airgap.Available] == 0 || here[airgap.Unavailable] == 0 {
		t.Errorf("images by availability: %v", here)
	}
}

// TestListParts checks that the parts of a blob are listed one by one.
func TestListParts(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk := s.Exported(s.Config("store.yaml", mirrortest.StoreOnly), "disk", func(o *mirroring.Options) { o.VolumeSize = 70_000 })
	parts := map[digest.Digest][]inspect.ArchivedContent{}
	for _, x := range content(s, disk) {
		if x.Parts > 0 {
			parts[x.Digest] = append(parts[x.Digest], x)
		}
	}
	if len(parts) == 0 {
		t.Fatal("no blob is in parts")
	}
	for d, all := range parts {
		var sum int64
		for i, x := range all {
			if x.Part != i+1 || x.At != sum || x.Parts != len(all) {
				t.Errorf("%+v", x)
			}
			sum += x.Size
		}
		if all[0].Whole != sum {
			t.Errorf("%s has %d bytes, its parts %d", d, all[0].Whole, sum)
		}
	}
}

// TestInspect describes a signed archive: whole, with volumes in another folder, and without the volume that has the plan.
func TestInspect(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	key, fingerprint := s.SSHKey("ops", "")
	disk, have, p := s.Disk("disk", s.SignedWith(key))
	info := have.Selected()
	o := opened(s, disk)
	o.Read.Signatures = s.Policy(key)
	got, err := inspect.Archive(t.Context(), o)
	fail.On(t, err)
	if got.Sequence != 1 || got.Set != info.Set || got.Name != "imageset" || len(got.Sets) != 1 || got.Missing != 0 || len(got.Others) > 0 || got.Signature == nil || got.Signature.Key != fingerprint {
		t.Errorf("%+v", got)
	}
	if set := got.Sets[0]; len(set.Volumes) != len(info.Volumes) || set.Content != info.Content || set.Bytes != info.ContentBytes || set.VolumeSize != info.VolumeSize {
		t.Errorf("%+v, want what is in %+v", set, info)
	}
	if got.Plan == nil || got.Plan.Totals != p.Totals || len(got.Plan.Catalogs) != len(p.Catalogs) || got.Plan.Images[plan.CatalogImage] != len(p.Catalogs) {
		t.Fatalf("%+v", got.Plan)
	}
	if c := got.Plan.Catalogs[0]; c.Image != "acme/operator-index:v4.20" || !slices.Contains(c.Packages, "lantern") {
		t.Errorf("%+v", c)
	}

	// One volume is on another disk, and one is missing.
	fail.On(t, errors.Join(os.Mkdir(s.Path("second"), 0o755), os.Rename(s.Path("disk/gantry-000001.0002.tar"), s.Path("second/renamed"))))
	s.Remove("disk/gantry-000001.0003.tar")
	if got := inspected(s, disk, s.Archive("second")); got.Missing != 1 || got.Sets[0].Volumes[1].Path != s.Path("second/renamed") {
		t.Errorf("with the other disk: %+v", got)
	}
	if got := inspected(s, disk); got.Missing != 2 || got.Sets[0].Volumes[1].Path != "" || got.Sets[0].Volumes[1].Problem != "missing" {
		t.Errorf("%+v", got)
	}
	s.Remove("disk/gantry-000001.0001.tar")
	if got := inspected(s, disk); got.Plan != nil || got.PlanProblem == "" {
		t.Errorf("without the plan: %+v", got)
	}
}

// TestInspectChain describes archives that build on others, and lists what they leave out.
func TestInspectChain(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk := s.Exported(s.Config("imageset.yaml", mirrortest.FirstMonth), "disk")
	have, p := s.OpenArchive(disk)
	info := have.Selected()
	all := slices.Collect(mirror.Content(p))
	next := s.Follow("next", have, archive.Options{Base: &archive.Base{Sets: []state.SetRef{info.SetRef}, Has: func(digest.Digest) bool { return true }, Plan: info.Plan}}, all)
	got := inspected(s, next)
	if got.Sequence != 2 || len(got.Sets) != 2 || got.Sets[1].Sequence != 1 || got.Sets[1].Folder != "" || got.Plan != nil || got.PlanProblem == "" || !slices.Contains(got.Sets[0].Features, "builds-on") {
		t.Errorf("alone: %+v", got)
	}
	fail.Diff(t, []inspect.InspectedBase{{Sequence: 1, Set: info.Set}}, got.Sets[0].BuildsOn)
	_, err := inspect.ListArchiveImages(t.Context(), inspect.ArchiveListOptions{Options: opened(s, next)})
	mirrortest.Refused(t, err, advice.Input, "name the folder of gantry-000001")
	if got := inspected(s, next, disk); got.Sequence != 2 || got.Plan == nil || got.Sets[1].Folder == "" {
		t.Errorf("with both folders: %+v", got)
	}
	o := opened(s, next, disk)
	o.Sequence = 1
	if got, err := inspect.Archive(t.Context(), o); err != nil || got.Sequence != 1 || !slices.Equal(got.Others, []int{2}) {
		t.Errorf("the first: %+v, %v", got, err)
	}

	// Except for one manifest, the content of all images is in the missing archive.
	keep := p.Images[0].Digest
	part := &archive.Base{Sets: []state.SetRef{info.SetRef}, Has: func(d digest.Digest) bool { return d != keep }}
	third := s.Follow("third", have, archive.Options{Base: part}, all)
	for _, tc := range []struct {
		folders []string
		want    airgap.Availability
	}{{[]string{third}, airgap.InEarlier}, {[]string{third, disk}, airgap.Available}} {
		for _, x := range listed(s, nil, tc.folders...) {
			if x.Here != tc.want {
				t.Errorf("in %v, %s is listed as %q, want %q", tc.folders, x.Name, x.Here, tc.want)
			}
		}
	}
}

// TestCompare compares archives in two folders, and the selected ones in one folder.
func TestCompare(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	first, store := s.Config("first.yaml", mirrortest.FirstMonth), s.Config("store.yaml", mirrortest.StoreOnly)
	months := s.Archive("months")
	for _, config := range []string{store, first, store} {
		s.Exported(config, "months", func(o *mirroring.Options) { o.Name = "months" })
	}
	compare := func(folders []string, sequence ...int) (*inspect.ArchiveDifference, error) {
		return inspect.CompareArchives(t.Context(), inspect.CompareArchivesOptions{Folders: folders, Sequence: sequence})
	}
	for _, tc := range []struct {
		folders  []string
		numbers  []int
		old, new int
		empty    bool
	}{
		{folders: []string{months}, old: 2, new: 3},
		{folders: []string{months}, numbers: []int{1, 2}, old: 1, new: 2},
		{folders: []string{months}, numbers: []int{1, 0}, old: 1, new: 3, empty: true},
		{folders: []string{months, months}, numbers: []int{2, 1}, old: 2, new: 1},
		{folders: []string{months, months}, old: 3, new: 3, empty: true},
	} {
		d, err := compare(tc.folders, tc.numbers...)
		if err != nil {
			t.Errorf("%v: %v", tc.numbers, err)
		} else if d.Old.Sequence != tc.old || d.New.Sequence != tc.new || d.Empty() != tc.empty || d.Old.Archive != months {
			t.Errorf("%v: %+v", tc.numbers, d)
		}
	}
	got, err := compare([]string{months}, 1, 2)
	fail.On(t, err)
	back, err := compare([]string{months}, 2, 1)
	fail.On(t, err)
	if len(got.Added) == 0 || len(got.Removed) != len(back.Added) || len(got.Added) != len(back.Removed) || len(got.Changed) != len(back.Changed) ||
		got.RemovedBytes != back.NewBytes || got.NewBytes != back.RemovedBytes || got.NewBytes == 0 || got.RemovedContent != back.NewContent {
		t.Errorf("%+v\n%+v", got, back)
	}
	s.Exported(store, "one")
	for name, tc := range map[string]struct {
		folders []string
		numbers []int
		words   string
	}{
		"no folder":      {nil, nil, "write file://OLD file://NEW"},
		"one archive":    {[]string{s.Archive("one")}, nil, "has only one archive"},
		"one number":     {[]string{months}, []int{1}, "OLD,NEW"},
		"no such number": {[]string{months}, []int{1, 7}, "gantry-000007.json"},
	} {
		_, err := compare(tc.folders, tc.numbers...)
		t.Run(name, func(t *testing.T) { mirrortest.Refused(t, err, advice.Input, tc.words) })
	}
}

// TestRefused checks the errors for folders without an archive that can be opened. All that look into archives return the
// same ones.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	key, _ := s.SSHKey("ops", "")
	disk := s.Exported(s.Config("store.yaml", mirrortest.StoreOnly), "disk")
	copied := func(name string) string {
		fail.On(t, os.CopyFS(s.Path(name), os.DirFS(s.Path("disk"))))
		return s.Archive(name)
	}
	cut, spoilt := copied("cut"), copied("spoilt")
	s.Remove("cut/gantry-000001.json")
	fail.On(t, errors.Join(os.Truncate(s.Path("cut/gantry-000001.0001.tar"), 100), os.Mkdir(s.Path("empty"), 0o755)))
	text := []byte(s.Read("spoilt/gantry-000001.json"))
	text[len(text)/2] ^= 1
	s.Write("spoilt/gantry-000001.json", string(text))
	s.Remove("spoilt/gantry-000001.0001.tar") // and the copy in it
	verbs := map[string]func(o open.Options) error{
		"inspect": func(o open.Options) error { _, err := inspect.Archive(t.Context(), o); return err },
		"images": func(o open.Options) error {
			_, err := inspect.ListArchiveImages(t.Context(), inspect.ArchiveListOptions{Options: o})
			return err
		},
		"content": func(o open.Options) error {
			_, err := inspect.ListArchiveContent(inspect.ArchiveListOptions{Options: o})
			return err
		},
		"repair": func(o open.Options) error { _, _, err := open.RequestRepair(t.Context(), o); return err },
		"compare": func(o open.Options) error {
			_, err := inspect.CompareArchives(t.Context(), inspect.CompareArchivesOptions{Folders: []string{o.Folders[0], o.Folders[0]}, Read: o.Read, Sequence: []int{o.Sequence, o.Sequence}})
			return err
		},
	}
	for _, tc := range []struct {
		kind  advice.Kind
		words []string
		o     open.Options
	}{
		{advice.Input, []string{"write file:///"}, opened(s, s.Path("disk"))},
		{advice.Input, []string{"file://DIR"}, opened(s, "file://")},
		{advice.Input, []string{"there is none", "name the folder that has them"}, opened(s, s.Archive("empty"))},
		{advice.Input, []string{"no such file", "check the path, and that the disk is mounted"}, opened(s, s.Archive("absent"))},
		{advice.Input, []string{"name the folder that it lies in"}, opened(s, s.Archive("disk/gantry-000001.json"))},
		{advice.Input, []string{"neither that nor volumes with a label", "copy the volumes again"}, opened(s, cut)},
		{advice.Mismatch, []string{"gantry-000001.json", "copy these files again"}, opened(s, spoilt)},
		{advice.Mismatch, []string{"not signed"}, open.Options{Folders: []string{disk}, Read: archive.OpenOptions{Signatures: s.Policy(key)}}},
		{advice.Input, []string{"gantry-000007.json"}, open.Options{Folders: []string{disk}, Sequence: 7}},
		{advice.Input, []string{"Options.Sequence -1"}, open.Options{Folders: []string{disk}, Sequence: -1}},
	} {
		for _, name := range slices.Sorted(maps.Keys(verbs)) {
			mirrortest.Refused(t, verbs[name](tc.o), tc.kind, tc.words...)
		}
	}
}
