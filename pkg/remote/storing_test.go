package remote

import (
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// The time to store a blob grows with it, and has an end.
func TestStoringTime(t *testing.T) {
	for size, want := range map[int64]time.Duration{0: time.Minute, 10 << 20: 100 * time.Second, 60 << 20: 5 * time.Minute, math.MaxInt64: 5 * time.Minute} {
		c := &Client{o: Options{Timeouts: Timeouts{IdleTimeout: time.Minute, SilentTimeout: 3 * time.Minute}}}
		fail.Diff(t, want, c.storing(size))
	}
}

// A registry that does not take what it was sent is slow, even if a buffer of this system has all of
// it: that is not the time in which it stores the blob.
func TestUnsentBytesAreNotStored(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is not known here how much a peer has taken")
	}
	blob, desc := blobOf(300 << 10)
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			<-done
			return
		}
		serve(blob)(w, r)
	}))
	defer s.Close()
	defer close(done)
	c, err := New(Options{
		Side: Destination, PlainHTTP: true, CertDirs: []string{}, Proxy: http.ProxyURL(nil),
		Timeouts: Timeouts{MinRate: 4 << 20, IdleTimeout: 500 * time.Millisecond, SilentTimeout: time.Minute}, Retry: Retry{Times: -1},
	})
	fail.On(t, err)
	defer c.Close()
	ref := repo
	ref.Host = s.Listener.Addr().String()
	if _, err = c.PushBlob(t.Context(), ref, desc, nil, open(blob)); err == nil || !strings.Contains(err.Error(), "bytes were transferred in") {
		t.Errorf("got %v", err)
	}
}
