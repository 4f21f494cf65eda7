package remote

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
)

// TestRunEndsWhereDeletionsEnd checks that a deletion that was sent when the run ends is not canceled at the
// registry, unless the response takes long, and that no other begins.
func TestRunEndsWhereDeletionsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		answers  time.Duration // after the end of the run
		deleted  bool
		canceled bool // the registry sees that the client left
		want     error
	}{
		"a response":  {answers: deletionGrace / 2, deleted: true},
		"no response": {answers: time.Hour, canceled: true, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var requests atomic.Int32
			var canceled atomic.Bool
			inBubble(t, Options{Side: Destination}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodDelete {
					return
				}
				requests.Add(1)
				select {
				case <-time.After(time.Second + tc.answers):
					w.WriteHeader(http.StatusAccepted)
				case <-r.Context().Done():
					canceled.Store(true)
				}
			}, func(t *testing.T, c *Client) {
				start := time.Now()
				time.AfterFunc(time.Second, cancel)
				at := repo.WithDigest(digest.FromString("a"))
				deleted, err := c.DeleteManifest(ctx, at)
				if deleted != tc.deleted || !errors.Is(err, tc.want) || tc.want == nil && err != nil {
					t.Errorf("DeleteManifest = %v, %v", deleted, err)
				}
				want := time.Second + min(tc.answers, deletionGrace)
				if took := time.Since(start); took < want || took > want+registryDelay {
					t.Errorf("it ended after %s, want %s", took, want)
				}
				for _, remove := range []func() (bool, error){
					func() (bool, error) { return c.DeleteManifest(ctx, at) },
					func() (bool, error) { return c.DeleteTag(ctx, at.WithTag("v1")) },
				} {
					if _, err := remove(); !errors.Is(err, context.Canceled) {
						t.Errorf("a deletion after the end: %v", err)
					}
				}
				<-time.After(2 * time.Hour) // for the handler
				if requests.Load() != 1 || canceled.Load() != tc.canceled {
					t.Errorf("%d requests, canceled is %t", requests.Load(), canceled.Load())
				}
			})
		})
	}
}
