package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

// checkRooms prints the lines of each room and the rooms that it uses, and uses of rooms that stand later in the order.
func checkRooms(nodes []*node) {
	room := func(n *node) string {
		r := roomOf(n.file, n.name)
		if r == "" {
			fmt.Println("no room:", n.file, n.name)
		}
		return r
	}
	lines := map[string]int{}
	edges := map[string]map[string][]string{}
	for _, n := range nodes {
		r := room(n)
		lines[r] += n.lines
		for m := range n.uses {
			q := room(m)
			if q == r {
				continue
			}
			if edges[r] == nil {
				edges[r] = map[string][]string{}
			}
			edges[r][q] = append(edges[r][q], n.name+"->"+m.name)
		}
	}
	var rs []string
	for r := range lines {
		rs = append(rs, r)
	}
	sort.Strings(rs)
	for _, r := range rs {
		fmt.Printf("%-24s %5d ->", r, lines[r])
		var qs []string
		for q, es := range edges[r] {
			qs = append(qs, fmt.Sprintf("%s(%d)", q, len(es)))
		}
		sort.Strings(qs)
		fmt.Println(" " + strings.Join(qs, " "))
	}
	level := map[string]int{}
	ob, err := os.ReadFile(*orderFile)
	if err != nil {
		fmt.Println(err)
	}
	for i, l := range strings.Fields(string(ob)) {
		level[l] = i
	}
	for _, r := range rs {
		for q, es := range edges[r] {
			if level[q] > level[r] {
				fmt.Println("upward:", r, "->", q, es)
			}
		}
	}
}
