package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	s := &mirroring.RunSummary{
		Run: state.Run{
			Name: "zoo", Destination: "docker://mirror.example.com/ocp", Started: began, Ended: began.Add(90 * time.Second),
			Result: state.RunPartial, LastSuccess: began.AddDate(0, 0, -1),
		},
		Result: &mirroring.Result{Report: &mirror.Report{
			Images: 10, Copied: 2, Present: 7, BlobsCopied: 1, BytesCopied: 2048, Failed: []mirror.Failure{{Source: "quay.io/a/b:v1", Reason: "not `found` | gone\n<b>"}},
		}},
		Retries: 3, Warnings: []string{"a warning of https://ci:hunter2@example.com"}, Compared: true,
		Versions:      []mirroring.VersionChange{{Catalog: "quay.io/c:v4", Package: "p", Added: []string{"1.1.0", "1.2.0"}}},
		AddedReleases: []string{"ocp 4.20.1 amd64"},
	}
	want := strings.ReplaceAll(`# ~zoo~ to ~docker://mirror.example.com/ocp~: partial

~1 image is unavailable~

| | |
|---|---|
| Began | 2026-11-23T02:00:00Z |
| Duration | 1m30s |
| Last complete run | 2026-11-22T02:00:00Z |
| Images | 10: 2 copied, 7 already present, 1 failed |
| Copied | 2.0 KiB in 1 blob |
| Repeated requests | 3 |

## Changes since the previous plan

| Catalog | Package | New | Removed |
|---|---|---|---|
| ~quay.io/c:v4~ | ~p~ | ~1.1.0, 1.2.0~ | - |

- new release: ~ocp 4.20.1 amd64~

## Not mirrored

- ~not mirrored: quay.io/a/b:v1 not 'found' / gone <b>~
`, "~", "`")
	got := Summary(s, "1 image is unavailable")
	if strings.Contains(got, "hunter2") {
		t.Errorf("a password is in\n%s", got)
	}
	got, warnings, _ := strings.Cut(got, "\n## Warnings\n")
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(warnings, "- `a warning of") {
		t.Errorf("- want, + got:\n%s\nwarnings: %s", diff, warnings)
	}
	s.Result = &mirroring.Result{Report: &mirror.Report{}, Resources: &cluster.ResourceFiles{Dir: "w/cluster-resources", Files: []string{"idms.yaml"}, Applied: &resources.Kustomized{Components: []string{"mirror-sets"}}}}
	if got := Summary(s, ""); !strings.HasSuffix(got, "## Next step\n\n```\nTo configure clusters:\n  oc apply -k w/cluster-resources\n```\n") {
		t.Errorf("%s", got)
	}
	failed := Summary(&mirroring.RunSummary{Run: state.Run{Destination: "file:///disk", Started: began, Ended: began, Result: state.RunFailed}}, "it failed")
	if !strings.HasPrefix(failed, "# `-` to `file:///disk`: failed\n\n`it failed`\n") {
		t.Errorf("%s", failed)
	}
}
