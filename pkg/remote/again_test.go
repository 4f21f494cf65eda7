package remote

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Who wants to know is told of each wait before it begins.
func TestOnRetry(t *testing.T) {
	type told struct {
		Host, Op string
		Attempt  int
		Wait     time.Duration
		Status   int
		At       time.Duration
	}
	var got []told
	var start time.Time
	n := 0
	inBubble(t, Options{Retry: Retry{Delay: time.Second}, OnRetry: func(a Again) {
		got = append(got, told{a.Host, a.Err.Op, a.Attempt, a.Wait, a.Err.Status, time.Since(start)})
	}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		switch n++; n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}, func(t *testing.T, c *Client) {
		start = time.Now()
		_, desc := blobOf(10)
		if _, err := c.BlobExists(t.Context(), repo, desc); err != nil {
			t.Fatal(err)
		}
		op := "looking for the blob " + desc.Digest.String()
		want := []told{
			{repo.Host, op, 2, time.Second, 503, 0},
			{repo.Host, op, 3, 7 * time.Second, 429, time.Second},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
