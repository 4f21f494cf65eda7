package sqlite

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// An edge is a row of table channel_entry: a bundle in a channel, and optionally one bundle that it
// updates there.
type edge struct {
	id       int64
	channel  string
	bundle   string
	replaces int64 // the id of another row, or 0
	depth    int64 // distance from the head when it was added
}

// edges returns the rows of a package by channel, those of a channel by id.
func (x *index) edges(ctx context.Context, name string) (map[string][]edge, error) {
	rows, err := x.conn.QueryContext(ctx, `
		SELECT id, channel, bundle, coalesce(replaces, 0), coalesce(depth, ?)
		FROM temp.entries WHERE package = ? AND bundle IS NOT NULL ORDER BY id`, int64(math.MaxInt64), name)
	if err != nil {
		return nil, err
	}
	all := map[string][]edge{}
	left := maxValues
	return all, scan(rows, func(row scanner) error {
		var e edge
		if err := row.Scan(&e.id, &e.channel, &e.bundle, &e.replaces, &e.depth); err != nil {
			return err
		}
		if left -= len(e.bundle) + 64; left < 0 {
			return errors.New("the channel entries exceed the limit of 16 MiB")
		}
		all[e.channel] = append(all[e.channel], e)
		return text(e.bundle)
	})
}

// A channel is a row of table channel.
type channel struct{ name, head string }

// channels returns the channels of a package, by name.
func (x *index) channels(ctx context.Context, name string) ([]channel, error) {
	rows, err := x.conn.QueryContext(ctx,
		"SELECT name, coalesce(head, '') FROM temp.channels WHERE package = ? AND name IS NOT NULL ORDER BY name, head", name)
	if err != nil {
		return nil, err
	}
	var all []channel
	return all, scan(rows, func(row scanner) error {
		var c channel
		if err := row.Scan(&c.name, &c.head); err != nil {
			return err
		}
		all = append(all, c)
		if len(all) > maxPackages {
			return errors.New("more than 100,000 channels")
		}
		return text(c.name)
	})
}

// entries returns the channel entries for the edges of a channel, by name.
//
// opm adds a row for a bundle and follows what it replaces, so the rows from the head down are the
// replaces. For everything that a bundle skips it adds two more rows, one for the bundle and one
// for the skipped bundle. A skipped bundle may therefore have such a row before its own. For a
// bundle that is not on the replaces chain the first row counts.
func entries(head string, edges []edge) []catalog.Entry {
	chain := replacesChain(head, edges)
	byID := make(map[int64]string, len(edges))
	for _, e := range edges {
		byID[e.id] = e.bundle
	}
	index := map[string]int{}
	skipped := map[[2]string]bool{}
	var all []catalog.Entry
	for _, e := range edges {
		i, known := index[e.bundle]
		if !known {
			i = len(all)
			index[e.bundle] = i
			all = append(all, catalog.Entry{Name: e.bundle})
		}
		target := byID[e.replaces]
		own, onChain := chain[e.bundle]
		switch {
		case target == "":
		case onChain && e.id == own || !onChain && !known:
			all[i].Replaces = target
		case !skipped[[2]string{e.bundle, target}]:
			skipped[[2]string{e.bundle, target}] = true
			all[i].Skips = append(all[i].Skips, target)
		}
	}
	elements.Sort(all, func(a, b catalog.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// replacesChain returns the ids of the rows from the head of a channel down to its end, by bundle.
// It begins with the row of the head that was added first.
func replacesChain(head string, edges []edge) map[string]int64 {
	byID := make(map[int64]edge, len(edges))
	headed := false
	for _, e := range edges {
		byID[e.id] = e
		headed = headed || e.bundle == head
	}
	var at edge
	found := false
	for _, e := range edges {
		if headed && e.bundle != head {
			continue
		}
		if !found || cmp.Or(cmp.Compare(e.depth, at.depth), cmp.Compare(e.id, at.id)) < 0 {
			at, found = e, true
		}
	}
	chain := map[string]int64{}
	for ; found; at, found = byID[at.replaces] {
		if _, again := chain[at.bundle]; again {
			break
		}
		chain[at.bundle] = at.id
	}
	return chain
}
