package trust

import (
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestFilesAreExempt checks that signature policies do not apply to files, and only to these: a plan that comes over a
// disk could call any image a file.
func TestFilesAreExempt(t *testing.T) {
	t.Parallel()
	f := plan.File{Name: "oc", Source: "file+https://example.com/oc", Digest: digest.FromString("oc"), Repository: "gantry/files"}
	img := plan.Image{Source: f.Source, Digest: f.Digest, Kind: plan.FileImage, Repository: f.Repository}
	other, elsewhere := img, img
	other.Digest = digest.FromString("other")
	elsewhere.Repository = "org/app"
	for name, tc := range map[string]struct {
		img   plan.Image
		files []plan.File
		want  bool
	}{
		"a file":              {img, []plan.File{f}, true},
		"not a file":          {img, nil, false},
		"another image":       {other, []plan.File{f}, false},
		"in another place":    {elsewhere, []plan.File{f}, false},
		"of the wrong source": {plan.Image{Source: "quay.io/org/app", Digest: f.Digest, Kind: plan.FileImage, Repository: f.Repository}, []plan.File{f}, false},
	} {
		p := &plan.Plan{Images: []plan.Image{tc.img}, Files: tc.files}
		j := &judge{}
		var err error
		if j.contents, err = p.Contents(); err != nil {
			t.Fatal(err)
		}
		all, err := j.collect(t.Context(), p)
		if got := err == nil && all.built == 1; got != tc.want {
			t.Errorf("%s: exempt %t, %v", name, got, err)
		}
	}
}
