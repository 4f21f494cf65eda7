package admission

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestPartialError checks what the error of a run says that could not copy everything.
func TestPartialError(t *testing.T) {
	t.Parallel()
	copied := mirror.Failure{Source: "quay.io/a:1", Repository: "a", Err: errors.New("HTTP 500")}
	missing := mirror.Failure{Source: "quay.io/b:1"}
	file := mirror.Failure{Source: plan.FileScheme + "https://example.com/x.iso"}
	catalog, release := mirror.Withheld{Catalog: "quay.io/c:1"}, mirror.Withheld{Release: "4.20.1"}
	const again, excludable = "fix the listed problems and run again", "; to publish catalogs without the packages that name these images, mirror with Options.OnError package"
	for name, tc := range map[string]struct {
		report     mirror.Report
		onError    string
		want, hint string
	}{
		"a failed copy":   {mirror.Report{Failed: []mirror.Failure{copied}}, "", "1 image is not mirrored; the rest is consistent", again},
		"a missing image": {mirror.Report{Failed: []mirror.Failure{copied, missing}}, "", "2 images are not mirrored; the rest is consistent", "fix the listed problems, or block images that are not needed with mirror.blockedImages, and run again"},
		"a missing file": {mirror.Report{Failed: []mirror.Failure{file}}, "", "1 file is not mirrored; the rest is consistent",
			"fix the listed problems, or remove files that are not needed from mirror.files and mirror.platform.tools.bootImages, and run again"},
		"withheld":       {mirror.Report{Failed: []mirror.Failure{copied}, Withheld: []mirror.Withheld{catalog, release}}, "", "1 image is not mirrored, 1 catalog is withheld, 1 release is withheld; the rest is consistent", again + excludable},
		"only a release": {mirror.Report{Failed: []mirror.Failure{copied}, Withheld: []mirror.Withheld{release}}, "", "1 image is not mirrored, 1 release is withheld; the rest is consistent", again},
		"excluded":       {mirror.Report{Failed: []mirror.Failure{copied}, Excluded: []mirror.Excluded{{}, {}}, Withheld: []mirror.Withheld{catalog}}, selection.OnErrorPackage, "1 image is not mirrored, 2 packages are excluded, 1 catalog is withheld; the rest is consistent", again},
	} {
		err := NewPartialError(&tc.report, tc.onError)
		kind, hint := err.Advice()
		if err.Error() != tc.want || hint != tc.hint || kind != advice.Partial {
			t.Errorf("%s: %s; %s", name, err, hint)
		}
	}
	both := NewPartialError(&mirror.Report{Failed: []mirror.Failure{copied, file}}, "")
	if both.Error() != "1 image and 1 file are not mirrored; the rest is consistent" || !errors.Is(both, copied.Err) {
		t.Error(both)
	}
	if _, hint := both.Of(nil, "request.json").Advice(); hint != "bring request.json to the connected side, write what it requests with Options.Repair, and run again with that archive in Options.From, too" {
		t.Error(hint)
	}
	both.request, both.buildsOn, both.Reasons = "", true, []error{fmt.Errorf("reading: %w", fs.ErrNotExist)}
	if _, hint := both.Advice(); hint != "add the listed archives to Options.From; or run again with Options.CheckBlobs, and write the next archive with Options.Receipts and the receipt of that run" {
		t.Error(hint)
	}
	planned := NewPlannedError(&plan.Plan{Missing: []plan.Missing{{Source: "quay.io/b:1"}, {Source: file.Source}}}, "")
	if _, hint := planned.Advice(); planned.Error() != "1 image and 1 file are missing at the source" || hint != "fix the listed problems, or block images that are not needed with mirror.blockedImages, or remove files that are not needed from mirror.files and mirror.platform.tools.bootImages" {
		t.Errorf("%s; %s", planned, hint)
	}
}
