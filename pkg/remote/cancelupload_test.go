package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// An upload that has not begun when the run ends does not begin, and one that is being started is
// canceled, also if the registry serves one request at a time.
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
					<-time.After(gracePeriod / 2)
				}
				serve(nil)(w, r)
			}, func(t *testing.T, c *Client) {
				blob, desc := blobOf(1000)
				h, err := c.host(repo.Host, false)
				fail.On(t, err)
				fail.On(t, h.probe(t.Context()))
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
				if took := time.Since(start); took > gracePeriod {
					t.Errorf("it ended after %s", took)
				}
				<-time.After(time.Minute) // for what might still go out
				mu.Lock()
				defer mu.Unlock()
				fail.Diff(t, tc.want, seen)
			})
		})
	}
}

// Uploads of earlier runs are canceled as long as the run continues, and no longer.
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

// A session whose upload the registry refuses for a time is not left behind: it is canceled after
// that time.
func TestRefusedUploadLeavesNoSession(t *testing.T) {
	blob, desc := blobOf(1000)
	var mu sync.Mutex
	sessions := map[string]bool{}
	refusals := 3
	inBubble(t, Options{Side: Destination}, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case http.MethodPost:
			location := "/v2/a/blobs/uploads/" + strconv.Itoa(len(sessions))
			sessions[location] = true
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusAccepted)
		case http.MethodPut:
			_, _ = io.Copy(io.Discard, r.Body)
			if refusals--; refusals >= 0 {
				w.Header().Set("Retry-After", "10")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			sessions[r.URL.Path] = false
			w.WriteHeader(http.StatusCreated)
		case http.MethodGet:
			w.Header().Set("Range", "0-0")
			w.WriteHeader(http.StatusNoContent)
		case http.MethodDelete:
			sessions[r.URL.Path] = false
			w.WriteHeader(http.StatusNoContent)
		}
	}, func(t *testing.T, c *Client) {
		_, err := c.PushBlob(t.Context(), repo, desc, nil, open(blob))
		fail.On(t, err)
		for location, left := range sessions {
			if left {
				t.Errorf("%s stays open", location)
			}
		}
		fail.Diff(t, 4, len(sessions))
	})
}

// A blob that was sent completely when the run ends is recorded, if its response comes soon; one
// that was not is abandoned at once.
func TestRunEndsWhereUploadsEnd(t *testing.T) {
	blob, desc := blobOf(100_000)
	for name, tc := range map[string]struct {
		answers time.Duration // after which the registry does
		stops   int           // where in the blob the source does
		want    error
		took    time.Duration
	}{
		"sent whole":          {answers: gracePeriod / 2, took: gracePeriod / 2},
		"sent whole, in vain": {answers: time.Hour, want: context.Canceled, took: gracePeriod},
		"on its way":          {stops: 50_000, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			inBubble(t, Options{Side: Destination}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut {
					_, _ = io.Copy(io.Discard, r.Body)
					<-time.After(time.Second + tc.answers) // it is a second after which the run ends
				}
				serve(nil)(w, r)
			}, func(t *testing.T, c *Client) {
				start := time.Now()
				time.AfterFunc(time.Second, cancel)
				_, err := c.PushBlob(ctx, repo, desc, nil, func(ctx context.Context, _ int64) (io.ReadCloser, error) {
					if tc.stops == 0 {
						return io.NopCloser(bytes.NewReader(blob)), nil
					}
					return io.NopCloser(io.MultiReader(bytes.NewReader(blob[:tc.stops]), ended{ctx})), nil
				})
				if !errors.Is(err, tc.want) || tc.want == nil && err != nil {
					t.Errorf("it ended with %v, want %v", err, tc.want)
				}
				if took := time.Since(start) - time.Second; took < tc.took || took > tc.took+registryDelay {
					t.Errorf("it ended after %s, want %s", took, tc.took)
				}
				<-time.After(2 * time.Hour) // for the handler
			})
		})
	}
}

// ended gives nothing until its context ends.
type ended struct{ ctx context.Context } //nolint:containedctx // it is all that there is

func (e ended) Read([]byte) (int, error) { <-e.ctx.Done(); return 0, e.ctx.Err() }

// Bytes that wait for the rate limit when the run ends are not sent: with the last bytes, the
// registry would have a blob that is not recorded.
func TestEndedWhileTheLastBytesWait(t *testing.T) {
	blob, desc := blobOf(2 << 10) // one piece at once, the other a second later
	var taken atomic.Int64
	inBubble(t, Options{Side: Destination, Rate: 1 << 10}, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			w.Header().Set("Location", "/v2/a/blobs/uploads/1")
			w.WriteHeader(http.StatusAccepted)
		case http.MethodPut:
			n, _ := io.Copy(io.Discard, r.Body)
			taken.Store(n)
			w.WriteHeader(http.StatusCreated)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := c.PushBlob(ctx, repo, desc, nil, open(blob)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("PushBlob = %v", err)
		}
		<-time.After(time.Hour) // for the handler
		if n := taken.Load(); n != 1<<10 {
			t.Errorf("the registry got %d bytes, want the %d that were sent before", n, 1<<10)
		}
	})
}
