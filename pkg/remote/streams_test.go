package remote

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Whether requests are refused, delayed, cut short or canceled, all streams are free afterwards and
// no request waits for one.
func TestStreamsAreFreeInTheEnd(t *testing.T) {
	blob, desc := blobOf(100_000)
	for seed := range uint64(5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			var mu sync.Mutex
			dice := rand.New(rand.NewPCG(seed, 0))
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return dice.IntN(n)
			}
			inBubble(t, Options{Side: Destination, Retry: Retry{Times: 3}}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/" {
					return
				}
				<-time.After(time.Duration(roll(200)) * time.Millisecond)
				switch roll(8) {
				case 0:
					w.Header().Set("Retry-After", strconv.Itoa(roll(4)))
					w.WriteHeader(http.StatusTooManyRequests)
				case 1:
					w.WriteHeader(http.StatusServiceUnavailable)
				case 2:
					if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
						_ = conn.Close()
					}
				case 3:
					w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
					_, _ = w.Write(blob[:len(blob)/2])
				default:
					serve(blob)(w, r)
				}
			}, func(t *testing.T, c *Client) {
				var wg sync.WaitGroup
				for i := range 300 {
					wg.Go(func() {
						<-time.After(time.Duration(roll(20_000)) * time.Millisecond)
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if roll(3) == 0 {
							time.AfterFunc(time.Duration(roll(5_000))*time.Millisecond, cancel)
						}
						// Whether it goes well is not the question here.
						switch i % 3 {
						case 0:
							_, _ = c.BlobExists(ctx, repo, desc)
						case 1:
							_, _ = c.PushBlob(ctx, repo, desc, nil, open(blob))
						default:
							if r, err := c.Blob(ctx, repo, desc, 0); err == nil {
								_, _ = io.CopyN(io.Discard, r, int64(roll(2*len(blob))))
								_ = r.Close()
							}
						}
					})
				}
				wg.Wait()               // in the bubble, waiting forever is a failure
				<-time.After(time.Hour) // for the handlers
				h, err := c.host(repo.Host, false)
				fail.On(t, err)
				s := h.streams
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.used != 0 || len(s.waiting) > 0 {
					t.Errorf("%d streams are in use, and %d requests wait for one", s.used, len(s.waiting))
				}
				if s.limit.cuts == 0 {
					t.Error("the width never shrank")
				}
			})
		})
	}
}

// A blob that is read from the host that it is sent to needs no second stream: with as many uploads
// as streams, no upload would get one.
func TestReadingBackTakesNoStream(t *testing.T) {
	blob, desc := blobOf(100_000)
	for _, most := range []int{1, 4} {
		t.Run(strconv.Itoa(most), func(t *testing.T) {
			inBubble(t, Options{Side: Destination, Streams: most}, serve(blob), func(t *testing.T, c *Client) {
				var wg sync.WaitGroup
				for range 2 * most {
					wg.Go(func() {
						_, err := c.PushBlob(t.Context(), repo, desc, nil, func(ctx context.Context, offset int64) (io.ReadCloser, error) {
							return c.BlobForUpload(ctx, repo, desc, offset)
						})
						if err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait() // in the bubble, waiting forever is a failure
			})
		})
	}
}
