package main

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// What a link holds of each connection and direction: linkChunks pieces of at
// most linkChunk bytes are under way at a time, as a window of 4 MiB.
const (
	linkChunk  = 32 << 10
	linkChunks = 128
)

// A link is a way to a registry that takes its time: a proxy for TCP that hands
// every piece on half a round trip after it came, and takes a round trip more
// for a connection's beginning. It does not limit how much is under way beyond
// what a connection's window holds.
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

// slow sets how long a round trip takes for what comes from now on.
func (l *link) slow(roundTrip time.Duration) { l.roundTrip.Store(int64(roundTrip)) }

func (l *link) close() {
	l.cancel()
	_ = l.listener.Close()
	l.running.Wait()
}

// join connects a client to the registry until both are done.
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
	// Ends the reads of both directions when the link is closed.
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), registry.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { l.carry(ctx, registry, client) })
	both.Go(func() { l.carry(ctx, client, registry) })
	both.Wait()
}

// A piece is what came at once, and when it is to be handed on.
type piece struct {
	data []byte
	due  time.Time
}

// carry hands on what comes from one side, until it ends or either fails.
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
	for p := range pieces { // to the end, so that the reader is never stuck
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

// wait reports whether the time passed before ctx ended.
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
