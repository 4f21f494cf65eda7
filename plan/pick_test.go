package plan

import (
	"slices"
	"strings"
	"testing"
)

// What is picked is a plan by itself, which can be written and read, and waits for
// nothing.
func TestPick(t *testing.T) {
	w := threePackages(t)
	p := w.plan(chosen)
	before := string(jsonOf(t, p))
	var picked []Image
	for _, img := range slices.Backward(p.Images) {
		if img.Kind == CatalogImage || img.Source == "quay.io/org/b-operand:v1" {
			picked = append(picked, img)
		}
	}
	q, err := p.Pick(picked)
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Images) != 2 || len(q.Catalogs) > 0 || q.Totals.Images != 2 || q.Totals.Blobs != len(q.Blobs) || len(q.Blobs) >= len(p.Blobs) {
		t.Errorf("%+v", q)
	}
	if _, err := Read(strings.NewReader(string(jsonOf(t, q)))); err != nil {
		t.Errorf("it cannot be read back: %v", err)
	}
	c, err := q.Contents()
	if err != nil {
		t.Fatal(err)
	}
	for _, img := range q.Images {
		if img.Kind == CatalogImage {
			t.Errorf("%s is still a catalog's", img.Source)
		}
		if err := c.Walk(img.Digest, func(*Manifest) error { return nil }, func(Blob) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if string(jsonOf(t, p)) != before {
		t.Error("the plan was changed")
	}
}
