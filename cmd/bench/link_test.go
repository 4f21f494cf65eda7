package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLink checks that data arrives complete and in order, in both directions.
func TestLink(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, body) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write(got)
	}))
	t.Cleanup(s.Close)
	l, err := startLink(t.Context(), strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.slow(time.Millisecond)
	resp, err := http.Post("http://"+l.host+"/", "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Equal(got, body) {
		t.Errorf("%s with %d bytes, want all %d back", resp.Status, len(got), len(body))
	}
}

// TestLinkDelays checks that every piece is forwarded half a round trip after it arrived,
// regardless of the number of pieces in transit.
func TestLinkDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, clientEnd := net.Pipe()
		registry, registryEnd := net.Pipe()
		l := &link{}
		l.slow(50 * time.Millisecond)
		began := time.Now()
		go l.carry(t.Context(), registryEnd, clientEnd)
		go func() {
			for _, text := range []string{"a", "b"} {
				if _, err := client.Write([]byte(text)); err != nil {
					t.Error(err)
				}
				<-time.After(10 * time.Millisecond)
			}
			_ = client.Close()
		}()
		for _, want := range []struct {
			text string
			at   time.Duration
		}{{"a", 25 * time.Millisecond}, {"b", 35 * time.Millisecond}} {
			got := make([]byte, 1)
			if _, err := io.ReadFull(registry, got); err != nil {
				t.Fatal(err)
			}
			if at := time.Since(began); string(got) != want.text || at != want.at {
				t.Errorf("%q came after %s, want %q after %s", got, at, want.text, want.at)
			}
		}
		_ = registry.Close()
	})
}

// TestLinkClose checks that closing a link ends its requests.
func TestLinkClose(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	l, err := startLink(t.Context(), strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	l.slow(time.Hour)
	ended := make(chan error, 1)
	go func() {
		resp, err := http.Get("http://" + l.host + "/")
		if err == nil {
			_ = resp.Body.Close()
		}
		ended <- err
	}()
	l.close()
	if err := <-ended; err == nil {
		t.Error("a request over a closed link was answered")
	}
}
