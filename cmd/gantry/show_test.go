package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestHowProgressIsShown decides off a terminal.
func TestHowProgressIsShown(t *testing.T) {
	for _, tt := range []struct {
		name string
		app  app
		want string
		err  string
	}{
		{name: "auto", app: app{progress: "auto", output: outputText}, want: progressLines},
		{name: "a log in JSON", app: app{progress: "auto", output: outputText, logFormat: outputJSON}, want: progressLines},
		{name: "a result in JSON leaves stderr to the log", app: app{progress: "auto", output: outputJSON}, want: progressNone},
		{name: "lines beside a result in JSON", app: app{progress: "lines", output: outputJSON}, want: progressLines},
		{name: "quiet", app: app{progress: "auto", quiet: true}, want: progressNone},
		{name: "quiet and none", app: app{progress: "none", quiet: true}, want: progressNone},
		{name: "events", app: app{progress: "json"}, want: progressJSON},
		{name: "quiet and events", app: app{progress: "json", quiet: true}, err: "--quiet and --progress json"},
		{name: "a bar", app: app{progress: "bar"}, err: "not a terminal"},
		{name: "no such view", app: app{progress: "dots"}, err: `--progress "dots"`},
	} {
		tt.app.stderr = &bytes.Buffer{}
		switch err := tt.app.openScreen(); {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || status(err) != exitUsage):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		case tt.err == "" && (err != nil || tt.app.progress != tt.want):
			t.Errorf("%s: %q, error %v, want %q", tt.name, tt.app.progress, err, tt.want)
		}
	}
}

func TestReadingOfNothing(t *testing.T) {
	if r := copyReading(&mirror.Meter{}, 2); r.Total != 0 || len(r.Items) > 0 || strings.Join(r.Facts, ";") != "2 retries" {
		t.Errorf("%+v", r)
	}
}

func figure(side remote.Side, host string, bytes int64, busy time.Duration) hostFigure {
	return hostFigure{Side: sideName(side), Host: host, Requests: 10, Retries: 1, BytesRead: bytes, busy: busy}
}

func TestTransfer(t *testing.T) {
	const mib = 1 << 20
	before := []hostFigure{figure(remote.Source, "quay.io", 500*mib, 100*time.Second)}
	after := []hostFigure{
		figure(remote.Source, "quay.io", 600*mib, 110*time.Second),               // 10 MiB/s since
		figure(remote.Source, "slow.example.com", 10*mib, 5*time.Second),         // 2 MiB/s
		figure(remote.Source, "idle.example.com", 1, 10*time.Millisecond),        // not busy
		figure(remote.Destination, "mirror.example.com", 300*mib, 5*time.Second), // 60 MiB/s
	}
	at := mirror.Progress{Moved: 110 * mib, Found: 1, Mounted: 2, Shared: 3}
	tr := newTransfer(at, 11*time.Second, before, after)
	if tr.BytesPerSecond != 10*mib || tr.Requests.Source != 30 || tr.Requests.Destination != 10 || tr.Retries != 4 ||
		tr.BytesFound != 1 || tr.BytesMounted != 2 || tr.BytesShared != 3 || tr.Slowest != "slow.example.com" {
		t.Errorf("%+v", tr)
	}
	if want := "took 11s, 10.0 MiB/s; 30 requests at the source, 10 requests at the destination; 4 retries; slowest: slow.example.com"; tr.String() != want {
		t.Errorf("%q, want %q", tr, want)
	}
	after[1].BytesRead = 45 * mib // 9 MiB/s: no clear difference
	if got := slowest(before, after); got != "" {
		t.Errorf("slowest is %q", got)
	}
	if got := newTransfer(mirror.Progress{}, 40*time.Millisecond, nil, nil).String(); got != "took 0.0s" {
		t.Errorf("%q", got)
	}
}
