package remote

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Two blobs that are read at the same time, from a registry that thinks for a
// second and then sends for another, keep it busy for two seconds, not four.
func TestHostStats(t *testing.T) {
	blob, desc := blobOf(1000)
	inBubble(t, Options{Retry: Retry{Delay: time.Minute}}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
		case r.Method == http.MethodGet:
			<-time.After(time.Second)
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(blob[:500])
			_ = http.NewResponseController(w).Flush()
			<-time.After(time.Second)
			_, _ = w.Write(blob[500:])
		default:
			serve(blob)(w, r)
		}
	}, func(t *testing.T, c *Client) {
		if err := c.mustHost(t).probe(t.Context()); err != nil { // a ping that takes no time
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				r, err := c.Blob(t.Context(), repo, desc, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, r); err != nil {
					t.Error(err)
				}
				_ = r.Close()
			})
		}
		wg.Wait()
		<-time.After(time.Hour) // nothing is under way
		_, err := c.PushBlob(t.Context(), repo, desc, nil, open(blob))
		fail.On(t, err)
		want := []HostStats{{
			Name: repo.Host, Requests: 5, BytesRead: 2000, BytesWritten: 1000,
			Busy:    2 * time.Second,
			Latency: 2 * time.Second / 5, // two of five answers took a second
		}}
		fail.Diff(t, want, c.Stats().Hosts)
	})
}

func (c *Client) mustHost(t *testing.T) *host {
	t.Helper()
	h, err := c.host(repo.Host, false)
	fail.On(t, err)
	return h
}
