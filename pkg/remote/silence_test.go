package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A registry that accepts connections and never responds fails after three minutes, and everything
// else that is requested of it at once. It is requested again after a minute.
func TestSilentRegistry(t *testing.T) {
	_, desc := blobOf(10)
	var talks atomic.Bool
	var requests atomic.Int64
	inBubble(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1); r.URL.Path == "/v2/" || talks.Load() {
			return
		}
		<-r.Context().Done()
	}, func(t *testing.T, c *Client) {
		start := time.Now()
		exists := func() error { _, err := c.BlobExists(t.Context(), repo, desc); return err }
		err := exists()
		if took := time.Since(start); took < 3*time.Minute || took > 3*time.Minute+5*time.Second {
			t.Errorf("it took %s", took)
		}
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(advice.Text(err), "no data was transferred for 1m0s (after 3 attempts); check the server") {
			t.Errorf("error %v", err)
		}
		start = time.Now()
		requests.Store(0)
		if err := exists(); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "sent nothing for 3m0s") || requests.Load() > 0 || time.Since(start) > 0 {
			t.Errorf("again: %v, %d requests in %s", err, requests.Load(), time.Since(start))
		}
		talks.Store(true)
		<-time.After(time.Minute)
		fail.On(t, exists())
	})
}

// A registry that takes long for some requests, and serves others meanwhile, is not silent.
func TestSlowResponsesAreNoSilence(t *testing.T) {
	blob, desc := blobOf(10)
	var began time.Time
	inBubble(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path != "/v2/" && time.Since(began) < 5*time.Minute {
			<-r.Context().Done()
			return
		}
		serve(blob)(w, r)
	}, func(t *testing.T, c *Client) {
		began = time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				_, _ = c.BlobExists(ctx, repo, desc)
				<-time.After(20 * time.Second)
			}
		}()
		r, err := c.Blob(t.Context(), repo, desc, 0)
		fail.On(t, err)
		defer r.Close()
		if n, err := io.Copy(io.Discard, r); n != desc.Size || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		cancel()
		<-time.After(time.Minute) // for the other requests
	})
}

// A source that sends a byte per second, and a registry that reads 20, are given up after some
// minutes. Both would take years.
func TestTooSlow(t *testing.T) {
	blob, desc := blobOf(4 << 20)
	o := Options{Timeouts: Timeouts{MinRate: 4 << 10}, Side: Destination}
	t.Run("source", func(t *testing.T) {
		inBubble(t, o, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.FormatInt(desc.Size, 10))
			for r.Context().Err() == nil && r.URL.Path != "/v2/" {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
				<-time.After(time.Second)
			}
		}, func(t *testing.T, c *Client) {
			start := time.Now()
			r, err := c.Blob(t.Context(), repo, desc, 0)
			fail.On(t, err)
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
			<-time.After(time.Second) // for the handlers
			checkTooSlow(t, err, time.Since(start), "bytes were transferred in 1m0s (the minimum is 4KiB per second) (after 3 attempts); if the network is this slow, lower Options.MinRate")
		})
	})
	t.Run("destination", func(t *testing.T) {
		inBubble(t, o, func(w http.ResponseWriter, r *http.Request) {
			buf := make([]byte, 20)
			for r.Method == http.MethodPut {
				if _, err := r.Body.Read(buf); err != nil {
					return
				}
				<-time.After(time.Second)
			}
			serve(blob)(w, r)
		}, func(t *testing.T, c *Client) {
			start := time.Now()
			_, err := c.PushBlob(t.Context(), repo, desc, nil, open(blob))
			checkTooSlow(t, err, time.Since(start), "no data was transferred")
			<-time.After(time.Hour) // for the handlers
		})
	})
}

func checkTooSlow(t *testing.T, err error, took time.Duration, words string) {
	t.Helper()
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(advice.Text(err), words) {
		t.Errorf("error %v", err)
	}
	if took < 2*time.Minute || took > 5*time.Minute {
		t.Errorf("it took %s", took)
	}
}

// Limits of rates, slow readers and slow sources of uploads are no slow network.
func TestMinRateCountsOnlyTheNetwork(t *testing.T) {
	blob, desc := blobOf(256 << 10)
	for name, o := range map[string]Options{
		"limited": {Rate: 1 << 10},
		"not":     {},
	} {
		o.MinRate, o.Side = 4<<10, Destination
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, serve(blob), func(t *testing.T, c *Client) {
				r, err := c.Blob(t.Context(), repo, desc, 0)
				fail.On(t, err)
				defer r.Close()
				slow := &trickle{r: r}
				if n, err := io.Copy(io.Discard, slow); n != desc.Size || err != nil {
					t.Errorf("%d bytes, %v", n, err)
				}
				_, err = c.PushBlob(t.Context(), repo, desc, nil, func(context.Context, int64) (io.ReadCloser, error) {
					return io.NopCloser(&trickle{r: strings.NewReader(string(blob))}), nil
				})
				if n := c.Stats().Retries; n > 0 || err != nil {
					t.Errorf("%d retries, %v", n, err)
				}
			})
		})
	}
}

// A trickle gives a KiB in ten seconds, much less than the minimum.
type trickle struct{ r io.Reader }

func (s *trickle) Read(p []byte) (int, error) {
	<-time.After(10 * time.Second)
	return s.r.Read(p[:min(len(p), 1<<10)])
}

// Requests share the minimum: a slow link that many use is not slow.
func TestMinRateIsShared(t *testing.T) {
	blob, desc := blobOf(100 * 600) // 600 bytes per second
	for n, fails := range map[int]bool{1: true, 8: false} {
		inBubble(t, Options{Timeouts: Timeouts{MinRate: 4 << 10}, Retry: Retry{Times: -1}}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
			for rest := blob; len(rest) > 0 && r.Context().Err() == nil; rest = rest[600:] {
				_, _ = w.Write(rest[:600])
				_ = http.NewResponseController(w).Flush()
				<-time.After(time.Second)
			}
		}, func(t *testing.T, c *Client) {
			results := make(chan error)
			for range n {
				go func() {
					r, err := c.Blob(t.Context(), repo, desc, 0)
					if err == nil {
						_, err = io.Copy(io.Discard, r)
						_ = r.Close()
					}
					results <- err
				}()
			}
			defer func() { <-time.After(time.Minute) }() // for the handlers
			for range n {
				if err := <-results; (err != nil) != fails {
					t.Errorf("%d at a time: %v", n, err)
				}
			}
		})
	}
}
