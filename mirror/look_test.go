package mirror

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/plan"
)

// farRegistry takes a second for every answer.
type farRegistry struct{ *memoryRegistry }

func (r farRegistry) HasManifest(ctx context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error) {
	<-time.After(time.Second)
	return r.memoryRegistry.HasManifest(ctx, repository, tag, desc)
}

func (r farRegistry) Tags(ctx context.Context, repository string, limit int) ([]string, error) {
	<-time.After(time.Second)
	return r.memoryRegistry.Tags(ctx, repository, limit)
}

// However many images a repository has and however many platforms they have,
// few questions wait for the answer to another; and a registry that has nothing
// is not asked for children.
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
				Repository: repository, Tags: []string{strings.Replace(d.String(), ":", "-", 1)},
			})
		}
	}
	names, err := Destination{Host: "mirror.example.com"}.Names(m.plan())
	if err != nil {
		t.Fatal(err)
	}
	full := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), full, Options{})
	h := Hold(m.plan(), names, &Report{}, nil)
	for name, tc := range map[string]struct {
		registry *memoryRegistry
		receipt  *Receipt
		answers  int // one after the other
		want     map[string]int
	}{
		"nothing there": {newMemoryRegistry(), nil, 2, map[string]int{"has manifest": 2, "tags": 2}},
		// The first image, its children, the others, theirs.
		"all there": {full, nil, 4, map[string]int{"has manifest": 2 * 8 * 5}},
		// The list of tags, all else.
		"all there, as an earlier run left it": {full, NewReceipt(names, &h), 2, map[string]int{"has manifest": 2*8*4 + 2, "tags": 2}},
		// The list, the first image without its tag.
		"all gone that an earlier run left": {newMemoryRegistry(), NewReceipt(names, &h), 2, map[string]int{"has manifest": 2, "tags": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.registry.calls = map[string]int{}
				r := &run{Options: Options{Streams: 64, Receipt: tc.receipt, Meter: &Meter{}}, registry: farRegistry{tc.registry}}
				if r.work, err = take(m.plan(), true); err != nil {
					t.Fatal(err)
				}
				r.Meter.begin(m.plan())
				start := time.Now()
				if err := r.look(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took > time.Duration(tc.answers)*time.Second {
					t.Errorf("%v answers were waited for one after the other, want %d", took.Seconds(), tc.answers)
				}
				if diff := cmp.Diff(tc.want, tc.registry.calls); diff != "" {
					t.Errorf("requests: %s", diff)
				}
			})
		})
	}
}
