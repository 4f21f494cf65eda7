package view

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/mirror"
)

func TestCopyProgressOfNothing(t *testing.T) {
	if r := CopyProgress(&mirror.Meter{}, 2); r.Total != 0 || len(r.Items) > 0 || strings.Join(r.Facts, ";") != "2 retries" {
		t.Errorf("%+v", r)
	}
}

func TestTransfer(t *testing.T) {
	tr := &copying.Transfer{Seconds: 11, BytesMoved: 110 << 20, BytesPerSecond: 10 << 20, Retries: 4, Slowest: "slow.example.com"}
	tr.Requests.Source, tr.Requests.Destination = 30, 10
	if got, want := Transfer(tr), "took 11s, 10.0 MiB/s; 30 requests at the source, 10 requests at the destination; 4 retries; slowest: slow.example.com"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Transfer(&copying.Transfer{Seconds: 0.04}); got != "took 0.0s" {
		t.Errorf("%q", got)
	}
}
