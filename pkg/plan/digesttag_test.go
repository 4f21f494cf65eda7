package plan_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

func TestDigestTag(t *testing.T) {
	t.Parallel()
	for _, d := range []digest.Digest{digest.FromString("a"), digest.SHA384.FromString("a"), digest.SHA512.FromString("a")} {
		tag, list := plan.DigestTag(d), plan.ReferrersTag(d)
		if !reference.IsTag(tag) || !plan.IsDigestTag(tag, d) || plan.IsReferrersTag(tag) {
			t.Errorf("the tag of %s is %s", d, tag)
		}
		if !plan.IsReferrersTag(list) || !plan.IsDigestTag(list, d) || plan.IsDigestTag(list, digest.FromString("b")) {
			t.Errorf("the list of %s is at %s", d, list)
		}
	}
	for _, tag := range []string{"v1", "latest", "sha256-0", plan.ReferrersTag(digest.FromString("a")) + ".sig"} {
		if plan.IsReferrersTag(tag) {
			t.Errorf("%s is the tag of a list", tag)
		}
	}
}

// TestWithDigestTags gives the images of earlier plans their present tags. The result is a valid plan.
func TestWithDigestTags(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int{"v0/plan.json": 2, "v1/plan.json": 0} {
		text, err := os.ReadFile("../../testdata/compat/" + file)
		fail.On(t, err)
		p, err := plan.Read(bytes.NewReader(text))
		fail.On(t, err)
		now := p.WithDigestTags()
		var out, again bytes.Buffer
		fail.On(t, now.Write(&out))
		read, err := plan.Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		changed := 0
		for i := range read.Images {
			for _, tag := range read.Images[i].Tags {
				if tag == plan.DigestTag(read.Images[i].Digest) {
					changed++
				}
				if plan.IsReferrersTag(tag) {
					t.Errorf("%s: %s has the tag %s", file, read.Images[i].Source, tag)
				}
			}
		}
		if changed != want {
			t.Errorf("%s: %d images have a new tag, want %d", file, changed, want)
		}
		if read.WithDigestTags() != read {
			t.Errorf("%s: a plan with present tags changes", file)
		}
		if err := p.Write(&again); err != nil || !bytes.Equal(again.Bytes(), text) {
			t.Errorf("%s: the plan that was read changed: %v", file, err)
		}
	}
}

// TestWithDigestTagsOfACatalog changes the tag of a catalog with that of its image.
func TestWithDigestTagsOfACatalog(t *testing.T) {
	t.Parallel()
	d, of := digest.FromString("built"), digest.FromString("another")
	p := &plan.Plan{
		Images:   []plan.Image{{Repository: "org/index", Digest: d, Tags: []string{plan.ReferrersTag(d)}}, {Repository: "org/list", Digest: d, Tags: []string{plan.ReferrersTag(of)}}},
		Catalogs: []plan.Catalog{{Digest: d, Tag: plan.ReferrersTag(d)}},
	}
	now := p.WithDigestTags()
	if tag := plan.DigestTag(d); now.Catalogs[0].Tag != tag || now.Images[0].Tags[0] != tag || now.Images[1].Tags[0] != tag {
		t.Errorf("%+v, %+v", now.Catalogs, now.Images)
	}
	if p.Catalogs[0].Tag != plan.ReferrersTag(d) || p.Images[0].Tags[0] != plan.ReferrersTag(d) {
		t.Error("the plan itself changed")
	}
}
