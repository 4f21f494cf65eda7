package remote

import (
	"context"
	"fmt"
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
func (c *Client) sources(ref reference.Reference) ([]registries.Endpoint, error) {
	if c.o.Side != Source {
		e, err := c.o.Registries.Destination(ref)
		return []registries.Endpoint{e}, err
	}
	return c.o.Registries.Sources(ref)
}

// read calls f for each endpoint of ref, in order, until one succeeds. Content with a digest is
// first requested from the endpoint where the repository's content was last found. A host that
// could not be reached is skipped as long as there is another. fixed means that ref's content
// cannot differ between endpoints.
func (c *Client) read(ctx context.Context, ref reference.Reference, fixed bool, f func(context.Context, hostRef) error) error {
	list, err := c.sources(ref)
	if err != nil {
		return err
	}
	name := ref.Name()
	order := c.order(name, len(list), fixed)
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
			c.prefer(name, at, len(list))
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

// order returns the order in which n endpoints are tried.
func (c *Client) order(name string, n int, fixed bool) []int {
	order := make([]int, 0, n)
	first := -1
	if fixed && n > 1 {
		c.mu.Lock()
		if at, ok := c.preferred[name]; ok && at < n {
			first = at
			order = append(order, at)
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

func (c *Client) prefer(name string, at, n int) {
	if n < 2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.preferred[name] = at
}
