package httpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fail.On(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// begin requests the root of a listener and returns the result.
func begin(t *testing.T, l net.Listener) <-chan error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
	fail.On(t, err)
	done := make(chan error, 1)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	go func() {
		res, err := (&http.Client{Transport: transport}).Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			err = errors.Join(err, res.Body.Close())
		}
		done <- err
	}()
	return done
}

// A request that is under way when the context ends is answered, and one that takes
// longer than it may is cut off.
func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		grace  time.Duration
		answer bool
	}{
		{"in time", time.Minute, true},
		{"too late", time.Millisecond, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := listener(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			arrived, release := make(chan struct{}), make(chan struct{})
			server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(arrived)
				select {
				case <-release:
				case <-r.Context().Done():
				}
			})}
			ended := make(chan error, 1)
			go func() { ended <- Run(ctx, server, l, tc.grace) }()
			answered := begin(t, l)
			<-arrived
			stop()
			if tc.answer {
				close(release)
			}
			if err := <-answered; (err == nil) != tc.answer {
				t.Errorf("the request ended with %v", err)
			}
			fail.On(t, <-ended)
			if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
				_ = conn.Close()
				t.Error("it still listens")
			}
		})
	}
}

// A listener that fails is an error, and nothing is waited for.
func TestListenerFails(t *testing.T) {
	t.Parallel()
	l := listener(t)
	fail.On(t, l.Close())
	err := Run(t.Context(), &http.Server{ReadHeaderTimeout: time.Minute}, l, time.Minute)
	if err == nil || !strings.HasPrefix(err.Error(), "serving 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
}
