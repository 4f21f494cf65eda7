package main

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The buffer of a link for each connection and direction: at most linkChunks pieces of up to
// linkChunk bytes, like a TCP window of 4 MiB.
const (
	linkChunk  = 32 << 10
	linkChunks = 128
)

// A link simulates a slow network connection to a registry. It is a TCP proxy that forwards each
// piece half a round trip after it arrived, and takes one more round trip to open a connection.
// Apart from the window of each connection, the amount of data in transit is not limited.
type link struct {
	host      string // "127.0.0.1:port"
	target    string
	roundTrip atomic.Int64
	listener  net.Listener
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

func startLink(ctx context.Context, target string) (*link, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &link{host: listener.Addr().String(), target: target, listener: listener, cancel: cancel}
	l.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.join(ctx, conn) })
		}
	})
	return l, nil
}

// slow sets the round-trip time of everything that arrives from now on.
func (l *link) slow(roundTrip time.Duration) { l.roundTrip.Store(int64(roundTrip)) }

func (l *link) close() {
	l.cancel()
	_ = l.listener.Close()
	l.running.Wait()
}

// join forwards data between a client and the registry until both directions end.
func (l *link) join(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	if !wait(ctx, time.Duration(l.roundTrip.Load())) {
		return
	}
	var d net.Dialer
	registry, err := d.DialContext(ctx, "tcp", l.target)
	if err != nil {
		return
	}
	defer func() { _ = registry.Close() }()
	// Closing the connections ends the reads of both directions.
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), registry.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { l.carry(ctx, registry, client) })
	both.Go(func() { l.carry(ctx, client, registry) })
	both.Wait()
}

// A piece is the data of one read and the time at which to forward it.
type piece struct {
	data []byte
	due  time.Time
}

// carry forwards data from one connection to another until the first ends or either fails.
func (l *link) carry(ctx context.Context, to, from net.Conn) {
	pieces := make(chan piece, linkChunks)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(pieces)
		for {
			data := make([]byte, linkChunk)
			n, err := from.Read(data)
			if n > 0 {
				pieces <- piece{data[:n], time.Now().Add(time.Duration(l.roundTrip.Load() / 2))}
			}
			if err != nil {
				return
			}
		}
	})
	var failed bool
	for p := range pieces { // read all pieces, so that the reader never blocks
		if failed || !wait(ctx, time.Until(p.due)) {
			failed = true
			continue
		}
		if _, err := to.Write(p.data); err != nil {
			failed = true
			_ = from.Close()
		}
	}
	reading.Wait()
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// wait reports whether the duration passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
