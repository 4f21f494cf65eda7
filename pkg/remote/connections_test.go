package remote_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A host gets hardly more connections than concurrent requests, and they are reused until the end.
// (Go may open one while another becomes free.)
func TestConnectionsAreKept(t *testing.T) {
	const width = 6
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true, Streams: width})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			blob := fmt.Appendf(nil, "{\"a\": %d}", i)
			repo := repoAt(s, fmt.Sprintf("org/name-%d", i%7))
			for range 4 {
				if _, err := c.PushBlob(t.Context(), repo, describe(blob), nil, opener(blob)); err != nil {
					t.Error(err)
				}
				if _, err := readBlobOf(t.Context(), c, repo, blob); err != nil {
					t.Error(err)
				}
				if _, found, err := c.ManifestExists(t.Context(), repo.WithTag("v1")); found || err != nil {
					t.Error(found, err)
				}
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n > 2*width {
		t.Errorf("%d connections for %d requests, and %d may be under way", n, 64*4*4, width)
	}
}
