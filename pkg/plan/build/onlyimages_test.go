package build

import (
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestOnlyImages checks that OnlyImages returns a complete plan that can be written and read, and
// whose images do not depend on each other.
func TestOnlyImages(t *testing.T) {
	w := threePackages(t)
	p := w.makePlan(chosen)
	before := string(jsonOf(t, p))
	var picked []plan.Image
	for _, img := range slices.Backward(p.Images) {
		if img.Kind == plan.CatalogImage || img.Source == "quay.io/org/b-operand:v1" {
			picked = append(picked, img)
		}
	}
	q, err := p.OnlyImages(picked)
	fail.On(t, err)
	if len(q.Images) != 2 || len(q.Catalogs) > 0 || q.Totals.Images != 2 || q.Totals.Blobs != len(q.Blobs) || len(q.Blobs) >= len(p.Blobs) {
		t.Errorf("%+v", q)
	}
	reread(t, q)
	c, err := q.Contents()
	fail.On(t, err)
	for _, img := range q.Images {
		if img.Kind == plan.CatalogImage {
			t.Errorf("%s is still a catalog image", img.Source)
		}
		fail.On(t, c.Walk(img.Digest, func(*plan.Manifest) error { return nil }, func(plan.Blob) error { return nil }))
	}
	if string(jsonOf(t, p)) != before {
		t.Error("the plan was changed")
	}
}
