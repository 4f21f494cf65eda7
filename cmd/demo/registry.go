package main

import (
	"context"
	"errors"
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
	host   string
	server *http.Server
	done   chan struct{} // closed when the server has ended
	// unplugged makes every request fail as if the network were down.
	unplugged atomic.Bool
	// pulled counts manifests and blobs that were read, pushed counts uploaded blobs.
	pulled, pushed atomic.Int64
}

func startRegistry(ctx context.Context) (*memoryRegistry, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0)
	content := registrytest.Memory()
	r := &memoryRegistry{host: l.Addr().String(), done: make(chan struct{})}
	r.server = &http.Server{
		ErrorLog:          quiet,
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if r.unplugged.Load() {
				if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
					_ = conn.Close()
				}
				return
			}
			switch path := req.URL.Path; {
			case req.Method == http.MethodGet && (strings.Contains(path, "/manifests/") || strings.Contains(path, "/blobs/")):
				r.pulled.Add(1)
			case req.Method == http.MethodPost && strings.Contains(path, "/blobs/uploads/"):
				r.pushed.Add(1)
			}
			content.ServeHTTP(w, req)
		}),
	}
	go func() {
		defer close(r.done)
		if err := r.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.unplugged.Store(true)
		}
	}()
	return r, nil
}

func (r *memoryRegistry) close() {
	_ = r.server.Close()
	<-r.done
}
