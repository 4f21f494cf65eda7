package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// pinnedSample returns a plan with n images in one repository whose tags contain their digests, the
// mirror after copying it, the names of the repositories at the mirror, and the record.
func pinnedSample(t *testing.T, n int) (*maker, *memoryRegistry, map[string]reference.Reference, *state.Record) {
	m := newMaker(t)
	for i := range n {
		d := m.image(fmt.Sprintf("pinned %d", i))
		m.p.Images = append(m.p.Images, plan.Image{
			Source: "src.example.com/org/pinned@" + d.String(), Kind: plan.RelatedImage, Digest: d,
			Repository: "org/pinned", Tags: []string{plan.DigestTag(d)},
		})
	}
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	registry.calls = map[string]int{}
	names, err := RegistryPath{Host: "mirror.example.com", Prefix: "ocp"}.Repositories(m.plan())
	fail.On(t, err)
	h := NewRecord(m.plan(), names, &Report{}, nil)
	return m, registry, names, &h
}

// TestKnownTagsNeverCostMore checks that, regardless of the number of images and the turn, a list
// costs no more requests than it saves, and that each image is requested once in eight turns.
func TestKnownTagsNeverCostMore(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 9, 16, 17, 40} {
		m, registry, names, h := pinnedSample(t, n)
		asked := 0
		for range 8 {
			registry.calls = map[string]int{}
			rep := mustRun(t, m.plan(), m.source(), registry, Options{KnownTags: NewKnownTags(names, h)})
			if !rep.UpToDate() {
				t.Fatalf("%d images: %+v", n, rep)
			}
			lists, heads := registry.calls["tags"], registry.calls["has manifest"]
			if want := min(n-1, 1); lists != want || lists+heads > n {
				t.Errorf("%d images, turn %d: %d lists and %d questions", n, h.Runs, lists, heads)
			}
			asked += heads
			*h = NewRecord(m.plan(), names, rep, h)
		}
		if want := n; n > 1 && asked != want {
			t.Errorf("%d images were requested %d times in eight runs", n, asked)
		}
	}
}

func TestKnownTagsOfOtherImages(t *testing.T) {
	m, registry, names, h := pinnedSample(t, 16)
	other := *h
	other.Images = nil
	for _, img := range h.Images {
		img.Mirror.Path = "elsewhere/org/pinned"
		other.Images = append(other.Images, img)
	}
	for name, tc := range map[string]struct {
		receipt *KnownTags
		want    map[string]int
	}{
		"none":               {nil, map[string]int{"tags": 1, "has manifest": 16}},
		"empty":              {NewKnownTags(names, nil), map[string]int{"tags": 1, "has manifest": 16}},
		"of another mirror":  {NewKnownTags(names, &other), map[string]int{"tags": 1, "has manifest": 16}},
		"of another plan":    {NewKnownTags(names, nil, *h), map[string]int{"tags": 1, "has manifest": 2}},
		"of a single image":  {NewKnownTags(names, &state.Record{Images: h.Images[:1]}), map[string]int{"has manifest": 16}},
		"of half the images": {NewKnownTags(names, &state.Record{Images: h.Images[:8]}), map[string]int{"tags": 1, "has manifest": 9}},
	} {
		registry.calls = map[string]int{}
		mustRun(t, m.plan(), m.source(), registry, Options{KnownTags: tc.receipt})
		if diff := cmp.Diff(tc.want, registry.calls); diff != "" {
			t.Errorf("%s: requests: %s", name, diff)
		}
	}
}

// TestKnownTagsInARepositoryWithManyTags checks that the tags of a repository are not all listed if
// it has far more tags than the plan has images.
func TestKnownTagsInARepositoryWithManyTags(t *testing.T) {
	m, registry, names, h := pinnedSample(t, 4)
	for i := range 1000 {
		registry.tags[fmt.Sprintf("org/pinned:aaa-%d", i)] = h.Images[0].Mirror.Digest
	}
	h.Runs = 4 // a turn of no image
	rep := mustRun(t, m.plan(), m.source(), registry, Options{KnownTags: NewKnownTags(names, h)})
	if diff := cmp.Diff(map[string]int{"tags": 1, "has manifest": 4}, registry.calls); diff != "" || !rep.UpToDate() {
		t.Errorf("%+v, requests: %s", rep, diff)
	}
}

// TestVerifyIgnoresKnownTags checks that Verify requests every image.
func TestVerifyIgnoresKnownTags(t *testing.T) {
	m, registry, names, h := pinnedSample(t, 16)
	opts := Options{KnownTags: NewKnownTags(names, h)}
	if lacks, err := Verify(t.Context(), m.plan(), registry, opts); err != nil || len(lacks) != 0 {
		t.Fatal(lacks, err)
	}
	_, err := Compare(t.Context(), m.plan(), registry, opts)
	fail.On(t, err)
	fail.Diff(t, map[string]int{"has manifest": 32}, registry.calls)
}

func TestKnownTagsIfListsFail(t *testing.T) {
	m, registry, names, h := pinnedSample(t, 16)
	registry.fail = func(call, _ string, _ digest.Digest) error {
		if call == "tags" {
			return errors.New("not for you")
		}
		return nil
	}
	rep := mustRun(t, m.plan(), m.source(), registry, Options{KnownTags: NewKnownTags(names, h), Fatal: func(error) bool { return true }})
	if diff := cmp.Diff(map[string]int{"tags": 1, "has manifest": 16}, registry.calls); diff != "" || !rep.UpToDate() {
		t.Errorf("%+v, requests: %s", rep, diff)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	registry.fail = func(string, string, digest.Digest) error { cancel(ended); return ctx.Err() }
	if _, err := Run(ctx, m.plan(), m.source(), registry, Options{KnownTags: NewKnownTags(names, h)}); !errors.Is(err, ended) {
		t.Errorf("%v after the run was ended", err)
	}
}

// TestKnownTagsOfSignatures checks that signatures are also found in lists, because their tags
// contain the digest of the signed image. A signature that the mirror lost is pushed at once; one
// that was replaced there is pushed when its turn comes.
func TestKnownTagsOfSignatures(t *testing.T) {
	m := newMaker(t)
	for i := range 16 {
		signed := digest.FromString(fmt.Sprintf("signed %d", i))
		m.p.Images = append(m.p.Images, plan.Image{
			Source: fmt.Sprintf("src.example.com/org/signed:sig-%d", i), Kind: plan.RelatedImage, Digest: m.image(fmt.Sprintf("signature %d", i)),
			Repository: "org/signed", Tags: []string{strings.Replace(signed.String(), ":", "-", 1) + ".sig"},
		})
	}
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	names, err := RegistryPath{Host: "mirror.example.com", Prefix: "ocp"}.Repositories(m.plan())
	fail.On(t, err)
	h := NewRecord(m.plan(), names, &Report{}, nil)
	again := func() *Report {
		registry.calls = map[string]int{}
		rep := mustRun(t, m.plan(), m.source(), registry, Options{KnownTags: NewKnownTags(names, &h)})
		h = NewRecord(m.plan(), names, rep, &h)
		return rep
	}
	if rep := again(); !rep.UpToDate() || registry.calls["tags"] != 1 || registry.calls["has manifest"] != 2 {
		t.Errorf("%+v, requests: %v", rep, registry.calls)
	}
	name := func(i int) string { return "org/signed:" + m.p.Images[i].Tags[0] }
	delete(registry.tags, name(3))
	if rep := again(); rep.UpToDate() || registry.tags[name(3)] != m.p.Images[3].Digest {
		t.Errorf("the lost tag was not pushed: %+v", rep)
	}
	registry.tags[name(5)] = m.p.Images[6].Digest
	runs := 0
	for registry.tags[name(5)] != m.p.Images[5].Digest {
		if runs++; runs > sampleEvery {
			t.Fatal("the replaced signature was not pushed again")
		}
		again()
	}
}
