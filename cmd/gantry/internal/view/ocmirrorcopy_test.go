package view

import (
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// lines returns the lines of a log without the time, which all have.
func lines(t *testing.T, text string) string {
	t.Helper()
	const at = "2026/03/01 09:30:00  "
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, at) {
			t.Errorf("the line %q has no time", line)
		}
	}
	return strings.ReplaceAll(text, at, "")
}

func ocMirrorLog() *OCMirrorLog {
	return &OCMirrorLog{Now: func() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) }}
}

// TestOCMirrorCopied checks the lines of a copy that other tools look for: images of each kind, without what belongs to
// other images, and which of them are complete.
func TestOCMirrorCopied(t *testing.T) {
	t.Parallel()
	image := func(source string, because ...plan.Reason) plan.Image {
		return plan.Image{Source: source, Digest: digest.FromString(source), Reasons: because}
	}
	signature := image("quay.io/a/b:sig")
	signature.Subject = digest.FromString("quay.io/a/operand:1")
	requested := &plan.Plan{
		Images: []plan.Image{
			image("quay.io/a/etcd:1", plan.Reason{Release: "4.20.1-x86_64"}), image("quay.io/a/graph:1", plan.Reason{List: "platform"}),
			image("quay.io/a/bundle:1", plan.Reason{Catalog: "c", Package: "p"}), image("quay.io/a/operand:1", plan.Reason{Chart: "x"}, plan.Reason{List: "operators"}),
			image("quay.io/a/web:1", plan.Reason{Chart: "x"}), image("quay.io/a/tool:1", plan.Reason{List: "additionalImages"}), signature,
		},
		Missing: []plan.Missing{{Source: "quay.io/a/lost:1", Reasons: []plan.Reason{{List: "additionalImages"}}}},
	}
	report := func(failed ...string) *mirror.Report {
		r := &mirror.Report{New: []*plan.Image{{Source: "quay.io/a/etcd:1", Repository: "a/etcd"}}}
		for _, source := range failed {
			r.Failed = append(r.Failed, mirror.Failure{Source: source, Reason: "no such\nhost"})
		}
		return r
	}
	without := *requested
	without.Images = append([]plan.Image{}, requested.Images[:2]...) // packages and others are left out
	const results = "[INFO]   : === Results ===\n"
	for name, tc := range map[string]struct {
		copied *plan.Plan
		report *mirror.Report
		want   string
	}{
		"all, but what is missing at its source": {requested, report(), results + `[INFO]   :  ✓ 2 / 2 release images mirrored successfully
[INFO]   :  ✓ 2 / 2 operator images mirrored successfully
[INFO]   :  ✗ 1 / 2 additional images mirrored: Some additional images failed to be mirrored - please check the logs
[INFO]   :  ✓ 1 / 1 helm images mirrored successfully
`},
		"an image and a signature": {requested, report("quay.io/a/etcd:1", "quay.io/a/b:sig"), results + `[INFO]   :  ✗ 1 / 2 release images mirrored: Some release images failed to be mirrored - please check the logs
[INFO]   :  ✗ 1 / 2 operator images mirrored: Some operator images failed to be mirrored - please check the logs
[INFO]   :  ✗ 1 / 2 additional images mirrored: Some additional images failed to be mirrored - please check the logs
[INFO]   :  ✓ 1 / 1 helm images mirrored successfully
`},
		"without packages": {&without, report(), results + `[INFO]   :  ✓ 2 / 2 release images mirrored successfully
[INFO]   :  ✗ 0 / 2 operator images mirrored: Some operator images failed to be mirrored - please check the logs
[INFO]   :  ✗ 0 / 2 additional images mirrored: Some additional images failed to be mirrored - please check the logs
[INFO]   :  ✗ 0 / 1 helm images mirrored: Some helm images failed to be mirrored - please check the logs
`},
	} {
		l := ocMirrorLog()
		if got := l.Results(tc.copied, tc.report); got != "" {
			t.Errorf("%s: results before a copy: %s", name, got)
		}
		fail.Diff(t, "[INFO]   : \U0001F680 Start copying the images...\n[INFO]   : \U0001F4CC images to copy 7 \n", lines(t, l.Begin(requested)))
		l.Begin(tc.copied) // again, with what is left
		fail.Diff(t, tc.want, lines(t, l.Results(tc.copied, tc.report)))
	}
	fail.Diff(t, "[INFO]   : Success copying quay.io/a/etcd:1 \u27A1\uFE0F a/etcd\n[ERROR]  : Failed to copy quay.io/a/tool:1: no such host\n",
		lines(t, ocMirrorLog().Images(report("quay.io/a/tool:1"))))
}

// TestOCMirrorDeletionLists checks the lines about a list of images to delete, and the last lines.
func TestOCMirrorDeletionLists(t *testing.T) {
	t.Parallel()
	l := ocMirrorLog()
	list := &removal.DeletionList{File: "/w/working-dir/delete/delete-images.yaml"}
	fail.Diff(t, "[INFO]   : \u2757 no images to delete...\n", lines(t, l.ListedDeletions(list)))
	list.Images = []removal.DeletedImage{{Image: "m/a:1"}}
	fail.Diff(t, "[INFO]   : \U0001F4C4 Generating delete file...\n[INFO]   : /w/working-dir/delete file created\n", lines(t, l.ListedDeletions(list)))
	fail.Diff(t, "[INFO]   : delete time     : 2m5s\n[INFO]   : \U0001F44B Goodbye, thank you for using oc-mirror\n", lines(t, l.DeletionEnd(125*time.Second)))
}
