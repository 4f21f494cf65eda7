package remote

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// logExchange logs one exchange of a request. Queries are left out, and what follows blobs/uploads/ in a path: both may
// permit what only the user is permitted.
func (h *host) logExchange(ctx context.Context, req *http.Request, started time.Time, resp *http.Response, err error) {
	log := h.c.o.Log
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	path := req.URL.EscapedPath()
	if before, _, ok := strings.Cut(path, uploadsPath); ok {
		path = before + uploadsPath
	}
	attrs := []any{"method", req.Method, "host", req.URL.Host, "path", path, "took", h.c.o.Clock.Now().Sub(started).Round(time.Microsecond)}
	if err != nil {
		log.DebugContext(ctx, "a request without a response", append(attrs, "err", err)...)
		return
	}
	log.DebugContext(ctx, "request", append(attrs, "status", resp.StatusCode)...)
}

// uploadsPath is in the path of upload sessions.
const uploadsPath = "/blobs/uploads/"
