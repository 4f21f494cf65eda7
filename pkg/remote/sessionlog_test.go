package remote

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A sessionRecord is a SessionLog in memory.
type sessionRecord []string

func (s *sessionRecord) Requested(string, digest.Digest)      { *s = append(*s, "requested") }
func (s *sessionRecord) NotOpened(string, digest.Digest)      { *s = append(*s, "not opened") }
func (s *sessionRecord) Opened(string, digest.Digest, string) { *s = append(*s, "opened") }
func (s *sessionRecord) Ended(string)                         { *s = append(*s, "ended") }

// A session whose request gets no response may be open at the registry. It is recorded before the
// request is sent, because the process may be killed.
func TestRequestedSessionsAreRecorded(t *testing.T) {
	blob, desc := blobOf(10)
	for name, tc := range map[string]struct {
		post http.HandlerFunc // nil: a session
		want string
	}{
		"opened":  {nil, "requested, opened, ended"},
		"mounted": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, "requested, not opened"},
		"refused": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "requested, not opened, requested, not opened"},
		"no response": {func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		}, "requested"},
	} {
		t.Run(name, func(t *testing.T) {
			var log sessionRecord
			inBubble(t, Options{Side: Destination, Retry: Retry{Times: -1}}, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v2/":
				case r.Method == http.MethodPost && (len(log) == 0 || log[len(log)-1] != "requested"):
					t.Errorf("%v before the request", log)
				case r.Method == http.MethodPost && tc.post != nil:
					tc.post(w, r)
				default:
					serve(blob)(w, r)
				}
			}, func(t *testing.T, c *Client) {
				c.LogSessions(&log)
				_, _ = c.PushBlob(t.Context(), repo, desc, []string{"b"}, open(blob))
				<-time.After(time.Minute)
				fail.Diff(t, tc.want, strings.Join(log, ", "))
			})
		})
	}
}
