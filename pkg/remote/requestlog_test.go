package remote_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestRequestLog checks that each request is logged, without the address of an upload session, which permits writing to it.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := startRegistry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			next.ServeHTTP(w, r)
		})
	})
	for level, logs := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var text bytes.Buffer
		c := newClient(t, remote.Options{Side: remote.Destination, Log: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level}))})
		requests.Store(0)
		blob := []byte("content " + level.String())
		_, err := c.PushBlob(t.Context(), repoAt(s, "team/app"), describe(blob), nil, opener(blob))
		fail.On(t, err)
		lines := strings.Count(text.String(), "msg=request ")
		if want := int(requests.Load()); logs && lines != want || !logs && lines != 0 || want < 2 {
			t.Errorf("level %s: %d of %d requests are logged:\n%s", level, lines, want, &text)
		}
		for line := range strings.Lines(text.String()) {
			if _, after, ok := strings.Cut(line, "/blobs/uploads/"); ok && !strings.HasPrefix(after, " ") || strings.Contains(line, "digest=") || strings.Contains(line, "?") {
				t.Errorf("it has the address of a session: %s", line)
			}
		}
	}
}
