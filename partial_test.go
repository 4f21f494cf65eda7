package gantry

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/plan"
)

func TestPartialError(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*PartialError{
		"2 images are not mirrored, 1 catalog is withheld; the rest is consistent":                          {failed: 2, withheld: 1},
		"2 images are not mirrored, 1 catalog is withheld, 2 releases are withheld; the rest is consistent": {failed: 2, withheld: 3, releases: 2},
		"1 image is missing at the source":                             {failed: 1, planned: true},
		"1 file is missing at the source":                              {failed: 1, files: 1, planned: true},
		"2 images and 1 file are not mirrored; the rest is consistent": {failed: 3, files: 1},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if advice.KindOf(e) != advice.Partial || !strings.HasPrefix(advice.Hint(e), "fix the listed problems") {
			t.Errorf("%d, %q", advice.KindOf(e), advice.Hint(e))
		}
	}
	if broken := (&PartialError{failed: 1, reasons: []error{advice.New(advice.Mismatch, "", "x")}}); advice.KindOf(broken) != advice.Mismatch {
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
		for _, err := range []*PartialError{newPartialError(&mirror.Report{Failed: tc.failed}, ""), newPlannedError(p, "")} {
			if hint := advice.Hint(err); strings.Contains(hint, blocked) != tc.image || strings.Contains(hint, removed) != tc.files {
				t.Errorf("%s: %q", name, hint)
			}
		}
	}
}

// The errors of runs and plans mention OnErrorPackage if it would publish a catalog that is withheld.
func TestPartialErrorMentionsOnErrorPackage(t *testing.T) {
	t.Parallel()
	catalog, release := mirror.Withheld{Catalog: "c", Missing: []string{"x"}}, mirror.Withheld{Release: "r", Missing: []string{"x"}}
	missing := &plan.Plan{
		Catalogs: []plan.Catalog{{Source: "c"}},
		Missing:  []plan.Missing{{Source: "x", Reasons: []plan.Reason{{Catalog: "c", Bundle: "b"}}}},
	}
	listed := &plan.Plan{Catalogs: missing.Catalogs, Missing: []plan.Missing{{Source: "x", Reasons: []plan.Reason{{List: "additionalImages"}}}}}
	for name, tc := range map[string]struct {
		err  *PartialError
		want bool
	}{
		"catalog":        {newPartialError(&mirror.Report{Withheld: []mirror.Withheld{catalog, release}}, OnErrorContinue), true},
		"default":        {newPartialError(&mirror.Report{Withheld: []mirror.Withheld{catalog}}, ""), true},
		"package":        {newPartialError(&mirror.Report{Withheld: []mirror.Withheld{catalog}}, OnErrorPackage), false},
		"release":        {newPartialError(&mirror.Report{Withheld: []mirror.Withheld{release}}, ""), false},
		"nothing":        {newPartialError(&mirror.Report{Failed: []mirror.Failure{{Source: "x"}}}, ""), false},
		"plan":           {newPlannedError(missing, ""), true},
		"plan, package":  {newPlannedError(missing, OnErrorPackage), false},
		"plan, an image": {newPlannedError(listed, ""), false},
	} {
		if hint := advice.Hint(tc.err); strings.Contains(hint, "Options.OnError package") != tc.want {
			t.Errorf("%s: %q", name, hint)
		}
	}
}

func TestAdviseWorkspace(t *testing.T) {
	t.Parallel()
	err := adviseWorkspace(fmt.Errorf("opening workspace x: %w", syscall.EROFS))
	if !errors.Is(err, syscall.EROFS) || !strings.Contains(advice.Hint(err), "Options.Workspace") {
		t.Errorf("a workspace on a read-only disk: %v, %q", err, advice.Hint(err))
	}
}
