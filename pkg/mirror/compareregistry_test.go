package mirror

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A farRegistry takes a second for every response.
type farRegistry struct{ *memoryRegistry }

func (r farRegistry) HasManifest(ctx context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error) {
	<-time.After(time.Second)
	return r.memoryRegistry.HasManifest(ctx, repository, tag, desc)
}

func (r farRegistry) Tags(ctx context.Context, repository string, limit int) ([]string, error) {
	<-time.After(time.Second)
	return r.memoryRegistry.Tags(ctx, repository, limit)
}

// TestLookWaitsForFewAnswers checks that few requests wait for the response to another one,
// regardless of the number of images and platforms of a repository, and that an empty registry
// receives no requests for children.
func TestLookWaitsForFewAnswers(t *testing.T) {
	m := newMaker(t)
	for _, repository := range []string{"org/many", "org/more"} {
		for i := range 8 {
			var children []string
			for j := range 4 {
				children = append(children, fmt.Sprintf("%s %d on %d", repository, i, j))
			}
			d := m.index(m.image(children[0]), m.image(children[1]), m.image(children[2]), m.image(children[3]))
			m.p.Images = append(m.p.Images, plan.Image{
				Source: "src.example.com/" + repository + "@" + d.String(), Kind: plan.RelatedImage, Digest: d,
				Repository: repository, Tags: []string{plan.DigestTag(d)},
			})
		}
	}
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(m.plan())
	fail.On(t, err)
	full := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), full, Options{})
	h := NewRecord(m.plan(), names, &Report{}, nil)
	for name, tc := range map[string]struct {
		registry *memoryRegistry
		receipt  *KnownTags
		answers  int // responses that are waited for one after the other
		want     map[string]int
	}{
		// The list of tags of the first repository, then of the others.
		"nothing there": {newMemoryRegistry(), nil, 2, map[string]int{"tags": 2}},
		// One list of tags. Then the first image of each other repository, its children, the other
		// images, their children.
		"all there": {full, nil, 5, map[string]int{"has manifest": 2 * 8 * 5, "tags": 1}},
		// The list of tags, then everything else.
		"all there, as an earlier run left it": {full, NewKnownTags(names, &h), 2, map[string]int{"has manifest": 2*8*4 + 2, "tags": 2}},
		// The list of tags, then the first image of each repository without its tag.
		"all gone that an earlier run left": {newMemoryRegistry(), NewKnownTags(names, &h), 2, map[string]int{"has manifest": 2, "tags": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.registry.calls = map[string]int{}
				r := &run{Options: Options{Streams: 64, KnownTags: tc.receipt, Meter: &Meter{}}, registry: farRegistry{tc.registry}}
				r.work, err = newWork(m.plan(), true)
				fail.On(t, err)
				r.Meter.begin(m.plan())
				start := time.Now()
				fail.On(t, r.compare(t.Context()))
				if took := time.Since(start); took > time.Duration(tc.answers)*time.Second {
					t.Errorf("%v answers were waited for one after the other, want %d", took.Seconds(), tc.answers)
				}
				fail.Diff(t, tc.want, tc.registry.calls)
			})
		})
	}
}

// TestLookWithoutListsOfTags checks that a registry that does not list tags gets one request for a list, if
// it has the images.
func TestLookWithoutListsOfTags(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	registry.calls = map[string]int{}
	registry.fail = func(call, _ string, _ digest.Digest) error {
		if call == "tags" {
			return errors.New("no such method")
		}
		return nil
	}
	if rep := mustRun(t, m.plan(), m.source(), registry, Options{Streams: 1}); !rep.UpToDate() {
		t.Errorf("%+v", rep)
	}
	fail.Diff(t, map[string]int{"has manifest": 8, "tags": 1}, registry.calls)
}
