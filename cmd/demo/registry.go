package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A memoryRegistry is a registry in this process, on loopback.
type memoryRegistry struct {
	host string
	// close ends it.
	close func()
	// unplugged makes every request fail as if the network were down.
	unplugged atomic.Bool
	// pushed counts uploaded blobs.
	pushed atomic.Int64
}

func startRegistry(ctx context.Context) (r *memoryRegistry, err error) {
	content := registrytest.Memory()
	r = &memoryRegistry{}
	r.host, r.close, err = serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.unplugged.Load() {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
			return
		}
		if req.Method == http.MethodPost && strings.Contains(req.URL.Path, "/blobs/uploads/") {
			r.pushed.Add(1)
		}
		content.ServeHTTP(w, req)
	}))
	return r, err
}

// serve responds on loopback until it is stopped.
func serve(ctx context.Context, h http.Handler) (host string, stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // until it is closed
	}()
	return l.Addr().String(), func() {
		_ = s.Close()
		<-done
	}, nil
}
