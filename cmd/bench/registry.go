package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A registry is a real one whose requests are counted, with a link before it
// where ways are to take their time.
type registry struct {
	bare *registrytest.Bare
	link *link // nil without latency
	dir  string
}

// startRegistry starts an empty registry below dir. With a latency above 0 it
// is reached over a link, which is fast until it is slowed.
func startRegistry(ctx context.Context, dir string, latency time.Duration) (*registry, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(dir, "registry")
	if err != nil {
		return nil, err
	}
	r := &registry{dir: dir}
	if r.bare, err = registrytest.StartBare(ctx, dir); err != nil {
		return nil, err
	}
	if latency > 0 {
		if r.link, err = startLink(ctx, r.bare.Host); err != nil {
			r.bare.Close()
			return nil, err
		}
	}
	return r, nil
}

// host is the registry's name for clients.
func (r *registry) host() string {
	if r.link != nil {
		return r.link.host
	}
	return r.bare.Host
}

// slow sets the time of a way to the registry and back, where there is a link.
func (r *registry) slow(roundTrip time.Duration) {
	if r.link != nil {
		r.link.slow(roundTrip)
	}
}

// remove ends the registry and deletes what it stored.
func (r *registry) remove() {
	if r.link != nil {
		r.link.close()
	}
	r.bare.Close()
	_ = os.RemoveAll(r.dir)
}

// mark returns the length of the access log, once nothing is added to it: a
// registry writes a line after the client has its answer.
func (r *registry) mark(ctx context.Context) (int64, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for last := int64(-1); ; {
		info, err := os.Stat(r.bare.LogFile)
		if err != nil {
			return 0, err
		}
		if info.Size() == last {
			return last, nil
		}
		last = info.Size()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-tick.C:
		}
	}
}

// since counts the requests after a mark.
func (r *registry) since(ctx context.Context, mark int64) (counts, error) {
	end, err := r.mark(ctx)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Clean(r.bare.LogFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return countRequests(io.NewSectionReader(f, mark, end-mark))
}
