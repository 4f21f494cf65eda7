package layered

// acyclic reverses the arcs that close a cycle, as a depth-first walk from the first item finds
// them.
func (p *part) acyclic() {
	const (
		open = iota + 1
		done
	)
	type step struct {
		it   *item
		next int
	}
	state := make(map[*item]int, len(p.items))
	var closing []*arc
	for _, start := range p.items {
		if state[start] != 0 {
			continue
		}
		state[start] = open
		stack := []step{{start, 0}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(top.it.out) {
				state[top.it] = done
				stack = stack[:len(stack)-1]
				continue
			}
			a := top.it.out[top.next]
			top.next++
			switch state[a.to] {
			case 0:
				state[a.to] = open
				stack = append(stack, step{a.to, 0})
			case open:
				closing = append(closing, a)
			}
		}
	}
	if len(closing) == 0 {
		return
	}
	for _, a := range closing {
		a.from, a.to, a.backward = a.to, a.from, true
	}
	for _, it := range p.items {
		it.in, it.out = nil, nil
	}
	for _, a := range p.arcs {
		a.from.out, a.to.in = append(a.from.out, a), append(a.to.in, a)
	}
}

// topological returns the items so that every arc leads forward.
func (p *part) topological() []*item {
	waiting := make(map[*item]int, len(p.items))
	order := make([]*item, 0, len(p.items))
	for _, it := range p.items {
		waiting[it] = len(it.in)
		if len(it.in) == 0 {
			order = append(order, it)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, a := range order[i].out {
			if waiting[a.to]--; waiting[a.to] == 0 {
				order = append(order, a.to)
			}
		}
	}
	return order
}

// rank gives every item its column: right of all its predecessors. Then items with a single
// successor move next to it, and items that are pulled more from the right than from the left
// follow, so that lines are short.
func (p *part) rank() {
	order := p.topological()
	for _, it := range order {
		it.rank = 0
		for _, a := range it.in {
			it.rank = max(it.rank, a.from.rank+1)
		}
	}
	// A loose item has one successor and no predecessors.
	loose := make(map[*item]bool, len(order))
	for _, it := range order {
		loose[it] = true
		for _, a := range it.in {
			loose[it] = loose[it] && loose[a.from] && len(a.from.out) == 1
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		it := order[i]
		if len(it.out) == 0 {
			continue
		}
		latest, pull := it.out[0].to.rank-1, 0
		for _, a := range it.out {
			latest = min(latest, a.to.rank-1)
			pull += a.weight
		}
		for _, a := range it.in {
			pull -= a.weight
		}
		if loose[it] || pull > 0 {
			it.rank = latest
		}
	}
}

// findSpine marks the path that is drawn straight: back from the item where the longest path ends,
// at every step the heaviest arc, and of equal ones the one with the longest path before it.
func (p *part) findSpine() {
	order := p.topological()
	type way struct {
		by     *arc
		length int // of heavy arcs
		total  int
	}
	longer := func(a, b way) bool {
		if a.by.weight != b.by.weight {
			return a.by.weight > b.by.weight
		}
		if a.length != b.length {
			return a.length > b.length
		}
		return a.total > b.total
	}
	ways := make(map[*item]way, len(order))
	var end *item
	for _, it := range order {
		for _, a := range it.in {
			before := ways[a.from]
			w := way{a, before.length + a.weight - 1, before.total + 1}
			if known := ways[it]; known.by == nil || longer(w, known) {
				ways[it] = w
			}
		}
		if len(it.out) > 0 {
			continue
		}
		w, best := ways[it], ways[end]
		if end == nil || w.length > best.length || w.length == best.length && w.total > best.total {
			end = it
		}
	}
	for it := end; it != nil; {
		it.spine = true
		by := ways[it].by
		if by == nil {
			break
		}
		by.spine = true
		it = by.from
	}
}
