package view

import (
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestStatus checks the table of the last runs.
func TestStatus(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &workspace.StatusReport{Workspace: "w", Runs: []state.Run{
		{Destination: "docker://m/ocp", Name: "a", Started: at, Result: state.RunComplete, Images: 41, Copied: 3, Plan: "sha256:" + digest.Digest(strings.Repeat("ab", 32))},
		{Destination: "docker://m/ocp", Name: "b", Started: at, Result: state.RunPartial, Images: 9, Failed: 2},
		{Destination: "docker://n", Started: at, Result: state.RunFailed, Message: "no such host\nat all"},
		{Destination: "file:///disk", Name: "a", Started: at, Result: state.RunStarted, Sequence: 2},
		{Mirror: "old", Result: state.RunUnknown},
	}}
	want := `DESTINATION     CONFIGURATION  LAST RUN              PLAN                 RESULT
docker://m/ocp  a              2026-01-02T03:04:05Z  sha256:abababababab  complete: 41 images, 3 copied
docker://m/ocp  b              2026-01-02T03:04:05Z  -                    PARTIAL: 2 of 9 images are unavailable
docker://n      -              2026-01-02T03:04:05Z  -                    FAILED
file:///disk    a              2026-01-02T03:04:05Z  -                    sequence 2, not ended: it is running, or it was killed
old             -              -                     -                    not recorded

docker://n failed:
  no such host
  at all
`
	if got := Status(s, 0); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := Status(&workspace.StatusReport{Workspace: "w"}, 0), "Nothing was mirrored with the workspace w.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
