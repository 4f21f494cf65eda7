// Package httpserver runs an HTTP server for as long as a context lasts.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Run serves a listener until the context ends, and closes it: new requests are
// refused then, and those under way get so much time to end before their
// connections are closed. It returns nil when the context ended. A server with
// TLSConfig speaks TLS. Limits of requests, and their contexts, are what the server
// was given.
func Run(ctx context.Context, server *http.Server, l net.Listener, grace time.Duration) error {
	stopped := make(chan error, 1)
	end := context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := server.Shutdown(limit)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // what still runs has had its time
		}
		stopped <- err
	})
	err := serve(server, l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	} else if end() {
		return fmt.Errorf("serving %s: %w", l.Addr(), err) // the context is not over
	}
	if err = errors.Join(err, <-stopped); err != nil {
		return fmt.Errorf("closing %s: %w", l.Addr(), err)
	}
	return nil
}

func serve(server *http.Server, l net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(l)
}
