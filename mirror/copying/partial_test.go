package copying

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/selection"
)

func TestPartialError(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*admission.PartialError{
		"2 images are not mirrored, 1 catalog is withheld; the rest is consistent":                          {Failed: 2, Withheld: 1},
		"2 images are not mirrored, 1 catalog is withheld, 2 releases are withheld; the rest is consistent": {Failed: 2, Withheld: 3, Releases: 2},
		"1 image is missing at the source":                             {Failed: 1, Planned: true},
		"1 file is missing at the source":                              {Failed: 1, Files: 1, Planned: true},
		"2 images and 1 file are not mirrored; the rest is consistent": {Failed: 3, Files: 1},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if advice.KindOf(e) != advice.Partial || !strings.HasPrefix(advice.Hint(e), "fix the listed problems") {
			t.Errorf("%d, %q", advice.KindOf(e), advice.Hint(e))
		}
	}
	if broken := (&admission.PartialError{Failed: 1, Reasons: []error{advice.New(advice.Mismatch, "", "x")}}); advice.KindOf(broken) != advice.Mismatch {
		t.Errorf("a damaged volume is of kind %d", advice.KindOf(broken))
	}
}

// The remedy for files is another one than for images, which blockedImages matches.
func TestPartialErrorOfFiles(t *testing.T) {
	t.Parallel()
	image, file, wrong := mirror.Failure{Source: "quay.io/a"}, mirror.Failure{Source: "file+https://a/b"}, mirror.Failure{Source: "file+https://a/b", Repository: "gantry/files"}
	const blocked, removed = "mirror.blockedImages", "remove files that are not needed from mirror.files and mirror.platform.tools.bootImages"
	for name, tc := range map[string]struct {
		failed       []mirror.Failure
		image, files bool
	}{
		"image": {[]mirror.Failure{image}, true, false},
		"file":  {[]mirror.Failure{file}, false, true},
		"wrong": {[]mirror.Failure{wrong}, false, true},
		"both":  {[]mirror.Failure{image, file}, true, true},
	} {
		p := &plan.Plan{}
		for _, f := range tc.failed {
			p.Missing = append(p.Missing, plan.Missing{Source: f.Source})
		}
		for _, err := range []*admission.PartialError{admission.NewPartialError(&mirror.Report{Failed: tc.failed}, ""), admission.NewPlannedError(p, "")} {
			if hint := advice.Hint(err); strings.Contains(hint, blocked) != tc.image || strings.Contains(hint, removed) != tc.files {
				t.Errorf("%s: %q", name, hint)
			}
		}
	}
}

// The errors of runs and plans mention selection.OnErrorPackage if it would publish a catalog that is withheld.
func TestPartialErrorMentionsOnErrorPackage(t *testing.T) {
	t.Parallel()
	catalog, release := mirror.Withheld{Catalog: "c", Missing: []string{"x"}}, mirror.Withheld{Release: "r", Missing: []string{"x"}}
	missing := &plan.Plan{
		Catalogs: []plan.Catalog{{Source: "c"}},
		Missing:  []plan.Missing{{Source: "x", Reasons: []plan.Reason{{Catalog: "c", Bundle: "b"}}}},
	}
	listed := &plan.Plan{Catalogs: missing.Catalogs, Missing: []plan.Missing{{Source: "x", Reasons: []plan.Reason{{List: "additionalImages"}}}}}
	for name, tc := range map[string]struct {
		err  *admission.PartialError
		want bool
	}{
		"catalog":        {admission.NewPartialError(&mirror.Report{Withheld: []mirror.Withheld{catalog, release}}, selection.OnErrorContinue), true},
		"default":        {admission.NewPartialError(&mirror.Report{Withheld: []mirror.Withheld{catalog}}, ""), true},
		"package":        {admission.NewPartialError(&mirror.Report{Withheld: []mirror.Withheld{catalog}}, selection.OnErrorPackage), false},
		"release":        {admission.NewPartialError(&mirror.Report{Withheld: []mirror.Withheld{release}}, ""), false},
		"nothing":        {admission.NewPartialError(&mirror.Report{Failed: []mirror.Failure{{Source: "x"}}}, ""), false},
		"plan":           {admission.NewPlannedError(missing, ""), true},
		"plan, package":  {admission.NewPlannedError(missing, selection.OnErrorPackage), false},
		"plan, an image": {admission.NewPlannedError(listed, ""), false},
	} {
		if hint := advice.Hint(tc.err); strings.Contains(hint, "Options.OnError package") != tc.want {
			t.Errorf("%s: %q", name, hint)
		}
	}
}

func TestAdviseWorkspace(t *testing.T) {
	t.Parallel()
	err := workspace.AdviseWorkspace(fmt.Errorf("opening workspace x: %w", syscall.EROFS))
	if !errors.Is(err, syscall.EROFS) || !strings.Contains(advice.Hint(err), "Options.Workspace") {
		t.Errorf("a workspace on a read-only disk: %v, %q", err, advice.Hint(err))
	}
}
