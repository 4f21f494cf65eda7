// Package httpserver runs an HTTP server until a context ends.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Run serves a listener until the context ends, and closes it: new requests are refused, and
// pending requests get some time to end before their connections are closed. It returns nil if the
// context ended. A server with TLSConfig uses TLS. The server's own limits and base context apply
// to requests.
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
