package copying

import (
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

func figure(side remote.Side, host string, bytes int64, busy time.Duration) env.HostStats {
	return env.HostStats{Side: env.SideName(side), Host: host, Requests: 10, Retries: 1, BytesRead: bytes, Busy: busy}
}

func TestTransfer(t *testing.T) {
	const mib = 1 << 20
	before := []env.HostStats{figure(remote.Source, "quay.io", 500*mib, 100*time.Second)}
	after := []env.HostStats{
		figure(remote.Source, "quay.io", 600*mib, 110*time.Second),               // 10 MiB/s since
		figure(remote.Source, "slow.example.com", 10*mib, 5*time.Second),         // 2 MiB/s
		figure(remote.Source, "idle.example.com", 1, 10*time.Millisecond),        // not busy
		figure(remote.Destination, "mirror.example.com", 300*mib, 5*time.Second), // 60 MiB/s
	}
	at := mirror.Progress{Copied: 110 * mib, Found: 1, Mounted: 2, Shared: 3}
	tr := newTransfer(at, 11*time.Second, before, after)
	if tr.BytesPerSecond != 10*mib || tr.Requests.Source != 30 || tr.Requests.Destination != 10 || tr.Retries != 4 ||
		tr.BytesFound != 1 || tr.BytesMounted != 2 || tr.BytesShared != 3 || tr.Slowest != "slow.example.com" {
		t.Errorf("%+v", tr)
	}
	after[1].BytesRead = 45 * mib // 9 MiB/s: no clear difference
	if got := slowest(before, after); got != "" {
		t.Errorf("slowest is %q", got)
	}
}
