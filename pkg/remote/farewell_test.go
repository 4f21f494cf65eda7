package remote

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An upload that has not begun when the run ends does not begin, and one whose
// beginning is on its way is cancelled, also where the registry takes one request
// at a time.
func TestRunEndsWhereUploadsBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		held time.Duration // for which the registry wants no requests
		want []string
	}{
		"waiting":    {held: time.Second},
		"on its way": {want: []string{http.MethodPost, http.MethodDelete}},
	} {
		t.Run(name, func(t *testing.T) {
			cancel := func() {}
			var mu sync.Mutex
			var seen []string
			inBubble(t, Options{Side: Destination, Streams: 1}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/" {
					return
				}
				mu.Lock()
				seen = append(seen, r.Method)
				mu.Unlock()
				if r.Method == http.MethodPost {
					cancel()
					<-time.After(farewell / 2)
				}
				serve(nil)(w, r)
			}, func(t *testing.T, c *Client) {
				blob, desc := blobOf(1000)
				h, err := c.host(repo.Host, false)
				if err != nil {
					t.Fatal(err)
				}
				if err := h.probe(t.Context()); err != nil {
					t.Fatal(err)
				}
				var ctx context.Context
				ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
				start := time.Now()
				if tc.held > 0 {
					h.pace.hold(start, tc.held)
					time.AfterFunc(tc.held/2, cancel)
				}
				if _, err := c.PushBlob(ctx, repo, desc, nil, open(blob)); !errors.Is(err, context.Canceled) {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(start); took > farewell {
					t.Errorf("it ended after %s", took)
				}
				<-time.After(time.Minute) // for what might still go out
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(seen, tc.want) {
					t.Errorf("the registry saw %v, want %v", seen, tc.want)
				}
			})
		})
	}
}

// What earlier runs left open is cancelled as long as the run goes on, and no longer.
func TestCancelUploadEndsWithTheRun(t *testing.T) {
	var deleted atomic.Int32
	inBubble(t, Options{Side: Destination}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			if <-time.After(3 * time.Second); r.URL.Path == "/v2/a/blobs/uploads/slow" {
				<-time.After(time.Hour)
			}
			deleted.Add(1)
			w.WriteHeader(http.StatusNoContent)
		}
	}, func(t *testing.T, c *Client) {
		_, desc := blobOf(10)
		base := "http://" + repo.Host + "/v2/a/blobs/uploads/"
		if err := c.CancelUpload(t.Context(), repo, desc.Digest, base+"left"); err != nil || deleted.Load() != 1 {
			t.Errorf("%d were cancelled, %v", deleted.Load(), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := c.CancelUpload(ctx, repo, desc.Digest, base+"slow"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
			t.Errorf("%v, after %s", err, time.Since(start))
		}
		<-time.After(2 * time.Hour) // for the handler
	})
}
