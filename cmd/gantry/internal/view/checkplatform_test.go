package view

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/proof"
)

// Hops that paths of several plans share are listed once, with their problems.
func TestPlatformCheck(t *testing.T) {
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
0 of 0 releases are complete.
Missing
  update 4.19.2 -> 4.20.2 in eus-4.20 for amd64; update 4.19.2 -> 4.20.2 in fast-4.20 for amd64
    no tag names it:
      it is gone
        mirror again
`
	fail.Diff(t, want, PlatformCheck(&r, 0))
}

// A missing release is a problem of several hops. It is printed once, and so is what else they have in
// common.
func TestPlatformCheckMissing(t *testing.T) {
	t.Parallel()
	gone := proof.Problem{Problem: "the mirror has no tag 4.19.2-x86_64", Hint: "mirror again"}
	other := proof.Problem{Problem: "not accepted", Hint: "get a key"}
	hop := func(from, to string, problems ...proof.Problem) proof.HopReport {
		return proof.HopReport{From: from, To: to, Problems: problems}
	}
	r := proof.Report{
		Mirror: "docker://mirror.example.com",
		Updates: []proof.UpdateReport{
			{Channel: "eus-4.20", Arch: "amd64", Hops: []proof.HopReport{hop("4.18.1", "4.19.2", gone), hop("4.19.2", "4.20.2", gone)}},
			{Channel: "eus-4.20", Arch: "amd64", Hops: []proof.HopReport{hop("4.18.2", "4.19.2", gone, other), hop("4.19.2", "4.20.2", gone)}},
		},
	}
	want := `Updates with what is at docker://mirror.example.com
  CHANNEL   ARCH   HOP               POSSIBLE  RISKS
  eus-4.20  amd64  4.18.1 -> 4.19.2  NO        -
  eus-4.20  amd64  4.19.2 -> 4.20.2  NO        -
  eus-4.20  amd64  4.18.2 -> 4.19.2  NO        -
0 of 0 releases are complete.
Missing
  updates 4.18.1 -> 4.19.2, 4.19.2 -> 4.20.2, 4.18.2 -> 4.19.2 in eus-4.20 for amd64
    the mirror has no tag 4.19.2-x86_64
        mirror again
  update 4.18.2 -> 4.19.2 in eus-4.20 for amd64
    not accepted
        get a key
`
	fail.Diff(t, want, PlatformCheck(&r, 0))
}
