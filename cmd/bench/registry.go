package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A registry is a real registry that logs its requests. With a latency, clients reach it over a
// link.
type registry struct {
	bare *registrytest.Bare
	link *link // nil without latency
	dir  string
}

// startRegistry starts an empty registry below dir. If latency is above 0, clients reach it over a
// link, which has no delay until slow is called.
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

// host returns the registry's host and port for clients.
func (r *registry) host() string {
	if r.link != nil {
		return r.link.host
	}
	return r.bare.Host
}

// slow sets the round-trip time of the link, if any.
func (r *registry) slow(roundTrip time.Duration) {
	if r.link != nil {
		r.link.slow(roundTrip)
	}
}

// remove stops the registry and deletes its content.
func (r *registry) remove() {
	if r.link != nil {
		r.link.close()
	}
	r.bare.Close()
	_ = os.RemoveAll(r.dir)
}

// mark returns the length of the access log when it no longer grows: a registry writes a line after
// the client has the response.
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
