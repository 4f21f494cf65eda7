package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/release/proof"
)

// Hops that paths of several plans share are shown once, with what is in their way.
func TestCheckPlatformText(t *testing.T) {
	t.Parallel()
	free := proof.HopReport{From: "4.18.1", To: "4.19.2", Possible: true}
	shut := proof.HopReport{From: "4.19.2", To: "4.20.2", Problems: []proof.Problem{{Problem: "no tag names it:\nit is gone", Hint: "mirror again"}}}
	r := proof.Report{
		Mirror: "docker://mirror.example.com",
		Updates: []proof.UpdateReport{
			{Plan: "a", Channel: "eus-4.20", Arch: "amd64", Hops: []proof.HopReport{free, shut}},
			{Plan: "b", Channel: "eus-4.20", Arch: "amd64", Hops: []proof.HopReport{shut}},
			{Plan: "b", Channel: "fast-4.20", Arch: "amd64", Hops: []proof.HopReport{shut}},
		},
	}
	want := `Updates with what is at docker://mirror.example.com
  CHANNEL    ARCH   HOP               POSSIBLE  RISKS
  eus-4.20   amd64  4.18.1 -> 4.19.2  yes       -
  eus-4.20   amd64  4.19.2 -> 4.20.2  NO        -
  fast-4.20  amd64  4.19.2 -> 4.20.2  NO        -
0 of 0 releases are whole.
Missing
  update 4.19.2 -> 4.20.2 in eus-4.20 for amd64
    no tag names it:
      it is gone
        mirror again
  update 4.19.2 -> 4.20.2 in fast-4.20 for amd64
    no tag names it:
      it is gone
        mirror again
`
	if diff := cmp.Diff(want, platformText(&r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for not, want := range map[int]string{1: "1 of 3 planned hops is not possible", 2: "2 of 3 planned hops are not possible"} {
		r := proof.Report{Updates: []proof.UpdateReport{{Hops: []proof.HopReport{{Possible: not < 3}, {Possible: not < 2}, {}}}}}
		if err := platformVerdict(&r); err == nil || err.Error() != "with this mirror "+want {
			t.Errorf("the verdict on %d hops is %v, want %q", not, err, want)
		}
	}
}
