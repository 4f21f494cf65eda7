package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// contentPlan returns a plan with n images of one blob each.
func contentPlan(n int) *Plan {
	p := &Plan{}
	for i := range n {
		b := Blob{Digest: digest.FromString(fmt.Sprint("blob", i)), Size: int64(i)}
		p.Blobs = append(p.Blobs, b)
		p.Manifests = append(p.Manifests, Manifest{Digest: digest.FromString(fmt.Sprint(i)), Size: 1, Blobs: []digest.Digest{b.Digest}})
	}
	slices.SortFunc(p.Manifests, compareManifests)
	slices.SortFunc(p.Blobs, compareBlobs)
	return p
}

// TestContentsOfAnyOrder checks that an order that an editor changed is accepted and preserved.
func TestContentsOfAnyOrder(t *testing.T) {
	p := contentPlan(10)
	slices.Reverse(p.Manifests)
	slices.Reverse(p.Blobs)
	first := p.Manifests[0]
	c, err := p.Contents()
	fail.On(t, err)
	for _, m := range p.Manifests {
		blobs := 0
		err := c.Walk(m.Digest, func(got *Manifest) error { return nil }, func(Blob) error { blobs++; return nil })
		if err != nil || blobs != 1 {
			t.Errorf("%s: %d blobs, %v", m.Digest, blobs, err)
		}
	}
	if p.Manifests[0].Digest != first.Digest {
		t.Error("the plan was sorted")
	}
	p.Blobs = append(p.Blobs, p.Blobs[0])
	if _, err := p.Contents(); err == nil {
		t.Error("a duplicate blob was accepted")
	}
}
