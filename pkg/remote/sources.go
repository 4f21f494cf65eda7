package remote

import (
	"context"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

// A spot is a reference at a host that is known to hold it, or thought to.
type spot struct {
	h   *host
	ref reference.Reference
}

// destination is where ref is written to.
func (c *Client) destination(ref reference.Reference) (spot, error) {
	e, err := c.o.Registries.Destination(ref)
	if err != nil {
		return spot{}, err
	}
	h, err := c.host(e.Reference.Host, e.Insecure)
	return spot{h, e.Reference}, err
}

// sources lists where ref may be read from.
func (c *Client) sources(ref reference.Reference) ([]registries.Endpoint, error) {
	if c.o.Side != Source {
		e, err := c.o.Registries.Destination(ref)
		return []registries.Endpoint{e}, err
	}
	return c.o.Registries.Sources(ref)
}

// read calls f with the places that ref may be read from, in their order, until
// one has it. What is named by its digest is sought first where the repository's
// content was last found; a host that could not be reached is passed over while
// there is another. fixed says that ref's content cannot differ between places.
func (c *Client) read(ctx context.Context, ref reference.Reference, fixed bool, f func(context.Context, spot) error) error {
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
		if !last && h.isDead() {
			continue
		}
		if err = f(ctx, spot{h, e.Reference}); err == nil {
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

// order is the order in which n places are tried.
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
