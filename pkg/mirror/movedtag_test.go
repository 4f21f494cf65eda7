package mirror_test

import (
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestMovedSourceTag checks that what was planned, verified and approved is copied, although the tags at the source name
// other images by then.
func TestMovedSourceTag(t *testing.T) {
	t.Parallel()
	content := newFaultContent(t)
	r := newFaultRun(t, content, registryToRegistry, "")
	other, err := rt.SizedImage("another", 1000)
	fail.On(t, err)
	for _, img := range r.plan.Images {
		_, err := r.source.Client().Push(t.Context(), img.Repository, "v1", other)
		fail.On(t, err)
	}
	report, err := r.copy(&skipClock{}, time.Minute)
	fail.On(t, err)
	if !report.Complete() || len(r.plan.Images) != 3 {
		t.Errorf("%+v", report)
	}
	client := r.client(remote.Destination, &skipClock{}, time.Minute)
	defer client.Close()
	for _, img := range r.plan.Images {
		got, err := client.Resolve(t.Context(), r.names[img.Repository].WithTag("v1"))
		if err != nil || got.Digest != img.Digest {
			t.Errorf("%s: %v, %v, want %s", img.Source, got.Digest, err, img.Digest)
		}
	}
}
