package view

import (
	"regexp"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestOCMirrorDeleted checks what is printed if some images of a list stay, or cannot be deleted.
func TestOCMirrorDeleted(t *testing.T) {
	t.Parallel()
	l := &OCMirrorLog{Now: func() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) }}
	item := func(kind, name string) deletion.Item {
		ref, err := reference.Parse("mirror.example.com/ocp/" + name)
		fail.On(t, err)
		return deletion.Item{Source: "docker://quay.io/" + name, Image: ref, Type: kind, Digest: digest.FromString(name)}
	}
	r := &removal.DeleteResult{Listed: []deletion.Item{
		item("ocpReleaseContent", "a/etcd:1"), item("operatorBundle", "a/bundle:1"), item("operatorRelatedImage", "a/operand:1"),
		item("helmImage", "a/web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"), item("generic", "a/tool:1"), item("generic", "a/tool:2"),
	}}
	for _, i := range []int{0, 1, 3, 4} { // a/operand stays
		r.Images = append(r.Images, r.Listed[i].Image.String())
	}
	r.Absent = []string{r.Listed[5].Image.String()}
	r.Deleted = &prune.Report{Failed: []prune.Failure{{Repository: "ocp/a/etcd", Digest: r.Listed[0].Digest}, {Repository: "ocp/a/tool", Tag: "1"}, {Repository: "ocp/a/web", Digest: r.Listed[1].Digest}}}
	got := regexp.MustCompile(`(?m)^2026/03/01 09:30:00  `).ReplaceAllString(l.Deleted(r, false), "")
	want := "[INFO]   : \U0001F440 Reading delete file...\n" +
		"[INFO]   : \U0001F680 Start deleting the images...\n" +
		"[INFO]   : \U0001F4CC images to delete 6 \n" +
		"[ERROR]  : Failed to delete ocpReleaseContent docker://quay.io/a/etcd:1\n" +
		"[INFO]   : Success deleting docker://quay.io/a/bundle:1 \u27A1\uFE0F mirror.example.com/ocp/a/\n" +
		"[ERROR]  : Failed to delete operatorRelatedImage docker://quay.io/a/operand:1\n" +
		"[INFO]   : Success deleting docker://quay.io/a/web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef \u27A1\uFE0F mirror.example.com/ocp/a/\n" +
		"[ERROR]  : Failed to delete generic docker://quay.io/a/tool:1\n" +
		"[INFO]   : Success deleting docker://quay.io/a/tool:2 \u27A1\uFE0F mirror.example.com/ocp/a/\n" +
		"[INFO]   : === Results ===\n" +
		"[INFO]   :  \u2717 0 / 1 release images deleted: Some release images failed to be deleted - please check the logs\n" +
		"[INFO]   :  \u2717 1 / 2 operator images deleted: Some operator images failed to be deleted - please check the logs\n" +
		"[INFO]   :  \u2717 1 / 2 additional images deleted: Some additional images failed to be deleted - please check the logs\n" +
		"[INFO]   :  \u2713 1 / 1 helm images deleted successfully\n"
	fail.Diff(t, want, got)
	// If the registry refuses to delete, nothing was.
	r.Deleted, r.Refused, r.Images, r.Absent = nil, true, nil, nil
	if got := l.Deleted(r, false); regexp.MustCompile(`success|Remember`).MatchString(got) {
		t.Errorf("a registry that refuses: %s", got)
	}
}
