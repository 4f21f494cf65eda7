package mirror

import (
	"context"
	"errors"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestJobWithoutFiles checks that an archive is written without files that have another checksum at their address,
// and only then: any other failure leaves it unfinished, and a registry needs no second copy.
func TestJobWithoutFiles(t *testing.T) {
	other := &remote.Error{Op: "reading", Err: remote.ErrMismatch}
	for _, tc := range []struct {
		name     string
		carried  bool
		failures map[string]error // by source
		left     []int            // the images of each copy
	}{
		{"a wrong file", true, map[string]error{"file+https://example.com/a": other}, []int{3, 2}},
		{"both files", true, map[string]error{"file+https://example.com/a": other, "file+https://example.com/b": other}, []int{3, 1}},
		{"a registry", false, map[string]error{"file+https://example.com/a": other}, []int{3}},
		{"a file that is unavailable", true, map[string]error{"file+https://example.com/a": remote.ErrNotFound}, []int{3}},
		{"a wrong file and an image", true, map[string]error{"file+https://example.com/a": other, "src.example.com/org/a:v1": other}, []int{3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "a"}
			for _, source := range []string{"file+https://example.com/a", "file+https://example.com/b", "src.example.com/org/a:v1"} {
				m := plan.Manifest{Digest: digest.FromString(source), MediaType: "application/vnd.oci.image.manifest.v1+json", Size: 1}
				img := plan.Image{Source: source, Digest: m.Digest, Size: 1, Reasons: []plan.Reason{{List: "files"}}, Kind: plan.AdditionalImage, Repository: "org/a", Tags: []string{"v1"}}
				if plan.IsFileSource(source) {
					img.Kind, img.Repository, img.Tags = plan.FileImage, "gantry/files", []string{source[len(source)-1:]}
				}
				p.Images, p.Manifests = append(p.Images, img), append(p.Manifests, m)
			}
			p.Totals = p.Count()
			j, err := NewJob(t.Context(), p, nil)
			fail.On(t, err)
			var left []int
			report, err := j.Run(t.Context(), tc.carried, func(_ context.Context, part *plan.Plan) (*Report, error) {
				left = append(left, len(part.Images))
				r := &Report{Images: len(part.Images)}
				for _, img := range part.Images {
					if err := tc.failures[img.Source]; err != nil {
						r.Failed = append(r.Failed, Failure{Source: img.Source, Repository: img.Repository, Err: err})
					}
				}
				r.Unfinished = tc.carried && len(r.Failed) > 0
				r.Copied = len(part.Images) - len(r.Failed)
				return r, nil
			})
			fail.On(t, err)
			if len(left) != len(tc.left) || left[len(left)-1] != tc.left[len(tc.left)-1] {
				t.Errorf("the copies had %v images, want %v", left, tc.left)
			}
			if len(report.Failed) != len(tc.failures) || report.Images != 3 || report.Unfinished != (tc.carried && len(tc.left) == 1) {
				t.Errorf("report %+v", report)
			}
			for _, f := range report.Failed {
				if !errors.Is(f.Err, tc.failures[f.Source]) {
					t.Errorf("%s failed with %v", f.Source, f.Err)
				}
			}
		})
	}
}
