package prune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// single returns an image of one manifest with a tag.
func single(name, repository, tag string, layers ...string) worldImage {
	img := worldImage{Image: plan.Image{Source: "quay.io/org/" + name, Kind: plan.AdditionalImage, Repository: repository, Tags: []string{tag}}}
	img.manifests = []*stored{newImage("", append(layers, name)...)}
	img.Digest = digest.FromBytes(img.manifests[0].raw)
	return img
}

// mirrored pushes the images of revisions of one image set. The last one is wanted.
func mirrored(t *testing.T, m *memory, revisions ...[]worldImage) *Recorded {
	t.Helper()
	r := &Recorded{}
	for n, images := range revisions {
		p := planOf(images...)
		fail.On(t, r.Add(Revision{ImageSet: "set", Number: n + 1}, p, namesOf(p), func(*plan.Image) bool { return n == len(revisions)-1 }))
		for _, img := range images {
			for i, s := range img.manifests {
				if i < len(img.manifests)-1 {
					m.push("pre/"+img.Repository, s)
				} else {
					m.push("pre/"+img.Repository, s, img.Tags...)
				}
			}
		}
	}
	return r
}

// TestMake checks a plan in full: shared layers, a tag that moved, and a tag of others.
func TestMake(t *testing.T) {
	t.Parallel()
	m := newMemory(false)
	old, same, kept := single("old", "a", "v1", "base", "shared"), single("same", "a", "v2", "base"), single("kept", "b", "v1", "other")
	again := single("old2", "b", "v2", "shared")
	renamed := same
	renamed.Tags = []string{"v3"}
	r := mirrored(t, m, []worldImage{old, same, kept, again}, []worldImage{renamed, single("new", "a", "v1", "base")})
	m.tags["pre/b"]["mine"] = kept.Digest
	p, err := Make(t.Context(), r, m, Options{})
	fail.On(t, err)
	size := func(img worldImage) int64 { return int64(len(img.manifests[0].raw)) }
	first := Revision{ImageSet: "set", Number: 1}
	want := &DeletionPlan{
		Kind: Kind, Version: Version, Records: []string{},
		Totals: Totals{Repositories: 2, Tags: 2, Manifests: 2, Kept: 1, Bytes: size(old) + 20 + size(again) + 10},
		Tags:   []Tag{{Repository: "pre/a", Tag: "v2", Digest: same.Digest, LastWanted: first}},
		Manifests: []Manifest{
			{Repository: "pre/a", Digest: old.Digest, Source: old.Source, Step: 1, LastWanted: first, Bytes: size(old) + 20},
			{Repository: "pre/b", Digest: again.Digest, Tags: []string{"v2"}, Source: again.Source, Step: 1, LastWanted: first, Bytes: size(again) + 10},
		},
		Kept: []Kept{{Repository: "pre/b", Digest: kept.Digest, Reason: "no record lists its tag mine", LastWanted: first}},
	}
	fail.Diff(t, want, p)
	var text bytes.Buffer
	fail.On(t, p.Write(&text))
	read, err := Read(&text)
	fail.On(t, err)
	fail.Diff(t, p, read)
}

// TestMovedTagNotArrived keeps the earlier image of a wanted tag whose newer image did not arrive.
func TestMovedTagNotArrived(t *testing.T) {
	t.Parallel()
	m := newMemory(false)
	old := single("old", "a", "v1")
	r := mirrored(t, m, []worldImage{old}, []worldImage{single("new", "a", "v1")})
	m.tags["pre/a"]["v1"] = old.Digest
	p, err := Make(t.Context(), r, m, Options{})
	if err != nil || len(p.Manifests) != 0 || len(p.Kept) != 1 || !strings.Contains(p.Kept[0].Reason, "still names it") {
		t.Errorf("%v; %+v", err, p)
	}
}

// TestEarlierOfAnotherMirror keeps an image with its tag that an earlier revision of another mirror has, too.
func TestEarlierOfAnotherMirror(t *testing.T) {
	t.Parallel()
	m := newMemory(false)
	img := single("img", "a", "v1")
	r := mirrored(t, m, []worldImage{img}, nil)
	theirs := planOf(img)
	fail.On(t, r.AddEarlier(Revision{ImageSet: "other", Number: 1}, theirs, namesOf(theirs)))
	p, err := Make(t.Context(), r, m, Options{})
	if err != nil || !p.Empty() {
		t.Errorf("%v; %+v", err, p)
	}
}

// TestRecordedOnly deletes an index that no plan lists, but a record does, with its children.
func TestRecordedOnly(t *testing.T) {
	t.Parallel()
	m := newMemory(true)
	a, b := newImage("", "a"), newImage("", "b")
	d := m.push("pre/x", newIndex("i", m.push("pre/x", a), m.push("pre/x", b)), "v1")
	r := &Recorded{}
	r.AddImage(Revision{ImageSet: "set"}, reference.Reference{Host: "mirror", Path: "pre/x", Tag: "v1", Digest: d}, "quay.io/x", false)
	p, err := Make(t.Context(), r, m, Options{})
	if err != nil || len(p.Manifests) != 3 || p.Manifests[0].Digest != d || p.Manifests[1].Step != 2 {
		t.Fatalf("%v; %+v", err, p)
	}
	if _, err := Execute(t.Context(), p, m, true, Options{}); err != nil || len(m.repos["pre/x"]) != 0 {
		t.Errorf("%v; left: %v", err, m.repos)
	}
}

// TestRepeatedIndexes checks that indexes which list each other many times are read once.
func TestRepeatedIndexes(t *testing.T) {
	t.Parallel()
	m := newMemory(true)
	d := m.push("pre/x", newImage("", "a"))
	for i := range plan.MaxDepth {
		d = m.push("pre/x", newIndex(fmt.Sprint(i), slices.Repeat([]digest.Digest{d}, 40)...), "v1")
	}
	r := &Recorded{}
	r.AddImage(Revision{ImageSet: "set"}, reference.Reference{Host: "mirror", Path: "pre/x", Tag: "v1", Digest: d}, "quay.io/x", false)
	p, err := Make(t.Context(), r, m, Options{})
	if err != nil || len(p.Manifests) != plan.MaxDepth+1 {
		t.Errorf("%v; %+v", err, p)
	}
}

// TestExecuteFailure checks that what an index contains stays if the index could not be deleted, and that
// other repositories are pruned.
func TestExecuteFailure(t *testing.T) {
	t.Parallel()
	m := newMemory(true)
	index := func(repository string) digest.Digest {
		return m.push(repository, newIndex("i", m.push(repository, newImage("", "a"))), "v1")
	}
	r := &Recorded{}
	for _, repository := range []string{"pre/x", "pre/y"} {
		r.AddImage(Revision{ImageSet: "set"}, reference.Reference{Host: "mirror", Path: repository, Tag: "v1", Digest: index(repository)}, "quay.io/x", false)
	}
	p, err := Make(t.Context(), r, m, Options{})
	fail.On(t, err)
	denied := errors.New("denied")
	m.refuse = func(repository string, _ digest.Digest) error {
		if repository == "pre/x" {
			return denied
		}
		return nil
	}
	report, err := Execute(t.Context(), p, m, true, Options{Fatal: func(error) bool { return false }})
	if err != nil || len(report.Failed) != 2 || !errors.Is(report.Failed[0].Err, denied) || report.Manifests != 2 {
		t.Errorf("%v; %+v", err, report)
	}
	if len(m.repos["pre/x"]) != 2 || len(m.repos["pre/y"]) != 0 {
		t.Errorf("left: %v", m.repos)
	}
	if _, err = Execute(t.Context(), p, m, true, Options{}); !errors.Is(err, denied) {
		t.Errorf("a fatal error: %v", err)
	}
}

// TestTagsOfDeletedManifests deletes tags whose manifests a registry deleted before it was interrupted: one that
// is made of the digest, and another one. A tag that names another image by now stays.
func TestTagsOfDeletedManifests(t *testing.T) {
	t.Parallel()
	m := newMemory(false)
	byDigest, named, moved := single("one", "a", ""), single("two", "a", "v1"), single("three", "a", "")
	byDigest.Tags, moved.Tags = []string{plan.DigestTag(byDigest.Digest)}, []string{plan.DigestTag(moved.Digest)}
	newer := single("new", "a", "v3")
	r := mirrored(t, m, []worldImage{byDigest, named, moved}, []worldImage{newer})
	for _, img := range []worldImage{byDigest, named, moved} {
		delete(m.repos["pre/a"], img.Digest)
	}
	m.tags["pre/a"][moved.Tags[0]] = newer.Digest
	p, err := Make(t.Context(), r, m, Options{})
	fail.On(t, err)
	want := []Tag{
		{Repository: "pre/a", Tag: byDigest.Tags[0], Digest: byDigest.Digest, LastWanted: Revision{ImageSet: "set", Number: 1}},
		{Repository: "pre/a", Tag: "v1", Digest: named.Digest, LastWanted: Revision{ImageSet: "set", Number: 1}},
	}
	fail.Diff(t, want, p.Tags)
	if _, err := Execute(t.Context(), p, m, false, Options{}); err != nil || len(m.tags["pre/a"]) != 4 {
		t.Errorf("%v; without deletion of tags, the tags are %v", err, m.tags)
	}
	_, err = Execute(t.Context(), p, m, true, Options{})
	if tags := m.tags["pre/a"]; err != nil || len(tags) != 2 || tags["v3"] == "" || tags[moved.Tags[0]] == "" {
		t.Errorf("%v; the tags are %v", err, tags)
	}
}

// TestUnreadableRepository keeps everything in a repository that cannot be read.
func TestUnreadableRepository(t *testing.T) {
	t.Parallel()
	m := newMemory(true)
	r := mirrored(t, m, []worldImage{single("old", "a", "v1")}, []worldImage{single("new", "b", "v1")})
	m.budget = 0
	p, err := Make(t.Context(), r, m, Options{Fatal: func(error) bool { return false }})
	if err != nil || len(p.Manifests) != 0 || len(p.Kept) != 1 || p.Kept[0].Repository != "pre/a" {
		t.Errorf("%v; %+v", err, p)
	}
}

// TestOnly checks that a saved plan deletes nothing that the present one does not.
func TestOnly(t *testing.T) {
	t.Parallel()
	m := newMemory(false)
	one, two := single("one", "a", "v1"), single("two", "a", "v2")
	r := mirrored(t, m, []worldImage{one, two}, []worldImage{single("new", "a", "v3")})
	p, err := Make(t.Context(), r, m, Options{})
	if err != nil || len(p.Manifests) != 2 {
		t.Fatalf("%v; %+v", err, p)
	}
	p.Revisions = []string{"set.t1.0123456789ab"}
	saved := *p
	saved.Manifests = p.Manifests[:1]
	if got := p.Only(&saved); len(got.Manifests) != 1 || got.Totals.Manifests != 1 || len(got.Revisions) != 0 {
		t.Errorf("%+v", got)
	}
	if got := p.Only(p); cmp.Diff(p, got) != "" {
		t.Error(cmp.Diff(p, got))
	}
}

// TestFormerKeys checks that plans are written with the keys that earlier versions read, that these and the printed
// ones are read, and that results have both keys.
func TestFormerKeys(t *testing.T) {
	t.Parallel()
	m := newMemory(false)
	r := mirrored(t, m, []worldImage{single("old", "a", "v1")}, []worldImage{single("new", "a", "v3")})
	p, err := Make(t.Context(), r, m, Options{})
	if err != nil || len(p.Manifests) != 1 {
		t.Fatalf("%v; %+v", err, p)
	}
	p.Mirror, p.Records, p.Revisions = "docker://mirror/pre", []string{"set", "set.t1.0123456789ab"}, []string{"set.t1.0123456789ab"}
	first := p.Manifests[0].LastWanted
	p.Tags = []Tag{{Repository: "pre/b", Tag: "v1", Digest: p.Manifests[0].Digest, LastWanted: first}}
	p.Keep(Kept{Repository: "pre/b", Tag: "v2", Digest: p.Manifests[0].Digest, Reason: "a tag keeps it", LastWanted: first})
	var file bytes.Buffer
	fail.On(t, p.Write(&file))
	text := file.String()
	if strings.Contains(text, "revision") || strings.Count(text, `"turn": 1`) != 3 || strings.Count(text, `"turns": [`) != 1 {
		t.Errorf("earlier versions cannot read %s", text)
	}
	read := func(text string) *DeletionPlan {
		got, err := Read(strings.NewReader(text))
		fail.On(t, err)
		return got
	}
	if got := read(text); cmp.Diff(p, got) != "" || got.Manifests[0].LastWanted.Number != 1 {
		t.Error(cmp.Diff(p, got))
	}
	printed := read(text)
	printed.AddFormerKeys()
	result, err := json.Marshal(printed)
	fail.On(t, err)
	if n := strings.Count(string(result), `"revision":1,"turn":1}`); n != 3 {
		t.Errorf("%d of 3 revisions have both keys in %s", n, result)
	}
	if !strings.Contains(string(result), `"revisions":["set.t1.0123456789ab"],"turns":["set.t1.0123456789ab"]`) {
		t.Errorf("not both keys are in %s", result)
	}
	if got := read(string(result)); cmp.Diff(p, got) != "" {
		t.Error(cmp.Diff(p, got))
	}
	report := Report{Failed: []Failure{{LastWanted: Revision{ImageSet: "set", Number: 2}}}}
	if report.AddFormerKeys(); report.Failed[0].LastWanted.Turn != 2 {
		t.Errorf("%+v", report)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"kind":"GantryDeletionPlan","version":1,"mirror":"docker://m","records":[],"totals":{"repositories":0,"tags":0,"manifests":0,"kept":0,"bytes":0}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		fail.On(t, p.Write(&out))
		again, err := Read(&out)
		fail.On(t, err)
		var second bytes.Buffer
		if err := again.Write(&second); err != nil || second.Len() == 0 {
			t.Fatal(err)
		}
	})
}

// TestReferrersTagOfAWantedImage keeps the list of referrers of a wanted image, which has the tag that earlier
// versions gave to the image itself. While the tag names the image, it stays and goes with it.
func TestReferrersTagOfAWantedImage(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]bool{"the image": false, "a list of referrers": true} {
		for _, wanted := range []bool{true, false} {
			m := newMemory(false)
			img := single("pinned", "a", "")
			earlier, other := plan.ReferrersTag(img.Digest), single("other", "a", "v1")
			img.Tags = []string{earlier} // as an earlier version recorded it
			before := mirrored(t, m, []worldImage{img, other}, []worldImage{other})
			now := img
			now.Tags = []string{plan.DigestTag(img.Digest)}
			if wanted {
				before = mirrored(t, m, []worldImage{img, other}, []worldImage{now})
			}
			m.tags["pre/a"][now.Tags[0]] = img.Digest
			if list {
				m.push("pre/a", newImage(img.Digest, "of the site"))
			}
			named := m.tags["pre/a"][earlier]
			p, err := Make(t.Context(), before, m, Options{})
			fail.On(t, err)
			_, err = Execute(t.Context(), p, m, true, Options{})
			fail.On(t, err)
			tags := m.tags["pre/a"]
			switch stays := wanted || list; { // what others attached to an image keeps it
			case len(p.Tags) != 0:
				t.Errorf("%s, wanted %t: deletes the tags %+v", name, wanted, p.Tags)
			case stays && (tags[earlier] != named || m.repos["pre/a"][named] == nil || tags[now.Tags[0]] != img.Digest || m.repos["pre/a"][img.Digest] == nil):
				t.Errorf("%s, wanted %t: left are %v", name, wanted, tags)
			case !stays && (tags[earlier] != "" || m.repos["pre/a"][img.Digest] != nil):
				t.Errorf("%s, wanted %t: left are %v", name, wanted, tags)
			}
		}
	}
}
