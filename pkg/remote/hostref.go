package remote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

// A hostRef is a reference at a host that has it, or may have it.
type hostRef struct {
	h   *host
	ref reference.Reference
}

// destination returns where ref is written to.
func (c *Client) destination(ref reference.Reference) (hostRef, error) {
	e, err := c.o.Registries.Destination(ref)
	if err != nil {
		return hostRef{}, err
	}
	h, err := c.host(e.Reference.Host, e.Insecure)
	return hostRef{h, e.Reference}, err
}

// sources returns where ref may be read from.
// blobs is whether its blobs are, and not its manifests.
func (c *Client) sources(ref reference.Reference, blobs bool) ([]registries.Endpoint, error) {
	if c.o.Side != Source {
		e, err := c.o.Registries.Destination(ref)
		return []registries.Endpoint{e}, err
	}
	if blobs {
		return c.o.Registries.BlobSources(ref)
	}
	return c.o.Registries.Sources(ref)
}

// read calls f for each endpoint of ref, in order, until one succeeds. Content with a digest is
// first requested from the endpoint where the repository's content was last found. A host that
// could not be reached is skipped as long as there is another. fixed means that ref's content
// cannot differ between endpoints.
func (c *Client) read(ctx context.Context, ref reference.Reference, fixed bool, f func(context.Context, hostRef) error) error {
	list, err := c.sources(ref, false)
	if err != nil {
		return err
	}
	return c.readFrom(ctx, ref, list, fixed, f)
}

// readBlob is read for a blob of a repository.
func (c *Client) readBlob(ctx context.Context, repository reference.Reference, f func(context.Context, hostRef) error) error {
	list, err := c.sources(repository, true)
	if err != nil {
		return err
	}
	return c.readFrom(ctx, repository, list, true, f)
}

func (c *Client) readFrom(ctx context.Context, ref reference.Reference, list []registries.Endpoint, fixed bool, f func(context.Context, hostRef) error) (err error) {
	name := ref.Name()
	order := c.order(name, list, fixed)
	var others []string
	for i, at := range order {
		e := list[at]
		h, err := c.host(e.Reference.Host, e.Insecure)
		if err != nil {
			return err
		}
		last := i == len(order)-1
		if !last && h.probeFailed() {
			continue
		}
		if err = f(ctx, hostRef{h, e.Reference}); err == nil {
			c.prefer(name, e, len(list))
			return nil
		}
		if ctx.Err() != nil || last {
			if len(others) > 0 {
				return fmt.Errorf("%w (tried before: %s)", err, strings.Join(others, "; "))
			}
			return err
		}
		c.o.Log.Debug("not read from a mirror", "ref", ref.String(), "host", h.name, "err", err)
		others = append(others, err.Error())
	}
	return nil
}

// order returns the order in which endpoints are tried.
func (c *Client) order(name string, list []registries.Endpoint, fixed bool) []int {
	n := len(list)
	order := make([]int, 0, n)
	first := -1
	if fixed && n > 1 {
		c.mu.Lock()
		if last, ok := c.preferred[name]; ok {
			first = slices.IndexFunc(list, func(e registries.Endpoint) bool { return e.Reference.Name() == last })
		}
		if first >= 0 {
			order = append(order, first)
		}
		c.mu.Unlock()
	}
	for i := range n {
		if i != first {
			order = append(order, i)
		}
	}
	return order
}

func (c *Client) prefer(name string, e registries.Endpoint, n int) {
	if n < 2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.preferred[name] = e.Reference.Name()
}
